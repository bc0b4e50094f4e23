#pragma once

#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Rewrites the planned layers as the NPU's compiler reads them (spec upstream_facts 1.1 to 1.5):
/// AscendQuant "<layer>.quant", int8 weight, int32 bias, AscendDequant "<layer>.dequant". The
/// device pads with offset_d, the integer of zero. The dequantized tensor keeps the layer's output
/// name; the integer one becomes "<layer>_output0". Equal quantizers of one tensor are one node.
void insert_deploy(ir::Model& model, const QuantPlan& plan);

}  // namespace amct::passes
