#pragma once

#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::workflow {

/// A quantized network in its two forms.
struct QuantizedModels {
  passes::QuantPlan plan;
  ir::Model fake_quant;
  ir::Model deploy;
};

/// Quantizes the layers of a prepared model, whose factors are known. Warns of each layer that
/// stays in float; throws Error(kUnsupported) when all do. `skipped`: layers left out before, for
/// that message.
QuantizedModels quantize_prepared(const ir::Model& prepared,
                                  const std::vector<passes::LayerRequest>& layers,
                                  const std::vector<passes::SkippedLayer>& skipped);

/// Throws the Error(kUnsupported) that says why no layer can be quantized.
[[noreturn]] void refuse_nothing_to_quantize(const std::vector<passes::SkippedLayer>& skipped);

}  // namespace amct::workflow
