#pragma once

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Turns the layers of the plan into the form that the NPU's compiler takes
/// (upstream_facts 1.1-1.6): AscendQuant in front, int8 weight, int32 bias without the offset term,
/// AscendDequant behind; its inputs get AscendQuant and AscendAntiQuant. All in the default domain.
/// Names of inputs and outputs stay.
void insert_deploy(ir::Model& model, const QuantPlan& plan);

}  // namespace amct::passes
