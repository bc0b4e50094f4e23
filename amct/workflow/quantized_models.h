#pragma once

#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"
#include "amct/workflow/quant_request.h"

namespace amct::workflow {

/// A quantized network in its two forms.
struct QuantizedModels {
  passes::QuantPlan plan;
  ir::Model fake_quant;
  ir::Model deploy;
};

/// Quantizes the layers and inputs of a prepared model, whose factors are known. Warns of each that
/// stays in float; throws Error(kUnsupported) when all do.
QuantizedModels quantize_prepared(const ir::Model& prepared, const QuantRequest& request);

/// Throws the Error(kUnsupported) that says why no layer can be quantized.
[[noreturn]] void refuse_nothing_to_quantize(const std::vector<passes::SkippedLayer>& skipped);

}  // namespace amct::workflow
