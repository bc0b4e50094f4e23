#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amct/passes/pass.h"

namespace amct::passes {

struct PrepareOptions {
  /// Whether normalizations and constants are folded into layers (spec section 19).
  bool do_fusion = true;
  /// Names of layers (Conv, BatchNormalization, ...) that fusion leaves as they are.
  std::vector<std::string> skip_fusion_layers;
};

/// What turns a model as users bring it into the form that quantization works on: names complete,
/// weights constant, layers fused. It computes the same and keeps the names of inputs and outputs.
Pipeline make_prepare_pipeline(const PrepareOptions& options);

/// One pass by its name; throws Error(kUsage) that lists the known ones. `keep` as in
/// PrepareOptions.
std::unique_ptr<Pass> make_pass(std::string_view name, const std::vector<std::string>& keep);

}  // namespace amct::passes
