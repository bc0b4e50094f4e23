#pragma once

#include "amct/ir/graph.h"

namespace amct::passes {

/// Rewrites a deploy model in integer operators that ONNX Runtime runs, with the same int32 sums
/// (docs/design/numerics.md). Needs opset 10, 11 for ConvTranspose. Throws Error(kUnsupported) that
/// names the node for what has no such form, Error(kInvalidModel) for broken parameters.
void lower_deploy(ir::Model& model);

}  // namespace amct::passes
