#pragma once

#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Rewrites the planned layers in standard ONNX operators that compute what the device computes
/// (docs/design/numerics.md): integers in float32, then one multiplication by scale_d * scale_w.
/// Works for every opset; names and types of the model's inputs and outputs stay. Layers of the
/// plan that the model does not have are an Error(kInvalidModel).
void insert_fake_quant(ir::Model& model, const QuantPlan& plan);

}  // namespace amct::passes
