#pragma once

#include "amct/ir/graph.h"

namespace amct::passes {

/// Whether the model holds AscendQuant, AscendDequant or AscendAntiQuant nodes.
bool is_deploy_model(const ir::Model& model);

/// Replaces the NPU's operators and the integer layers between them by ONNX operators that compute
/// the same with int32 accumulation (docs/design/numerics.md), so that an ONNX engine can run a
/// deploy model. Raises older models to operator set 11. Throws Error that names the node:
/// kInvalidModel when check_deploy_nodes() finds an error, kUnsupported for what cannot be computed
/// here.
void lower_deploy(ir::Model& model);

}  // namespace amct::passes
