#pragma once

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Turns the layers and inputs of the plan into their integer arithmetic, held in float32 and
/// written in standard ONNX operators only (docs/design/numerics.md). Names of inputs and outputs
/// stay.
void insert_fake_quant(ir::Model& model, const QuantPlan& plan);

}  // namespace amct::passes
