#pragma once

#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::workflow {

/// The model as the user knows it, with complete node names, and its prepared form.
struct FloatModel {
  ir::Model original;
  ir::Model prepared;
};

/// Names all nodes and prepares a copy for quantization. Throws Error(kUnsupported) when the model
/// holds operators of another tool's quantization.
FloatModel prepare_float_model(ir::Model original, bool do_fusion,
                               const std::vector<std::string>& skip_fusion_layers);

/// Gives nameless nodes the name {op_type}_{index}, and repeated names a numeric suffix.
void complete_names(ir::Model& model);

}  // namespace amct::workflow
