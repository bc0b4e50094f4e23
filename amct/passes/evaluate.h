#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// The output of a node on constants, for the operators that lead to weights: Constant, Identity,
/// Cast, Transpose, Reshape, Squeeze, Unsqueeze, Flatten, Mul and Div (float32 and double, rounded
/// as the operator rounds). Empty for everything else: other operators, element types or
/// attributes, a result with more elements than its largest input or more bytes than `max_bytes`,
/// inputs that the operator does not accept. `inputs` holds null for absent inputs.
std::optional<ir::Tensor> evaluate(const ir::Node& node,
                                   const std::vector<const ir::Tensor*>& inputs, std::int64_t opset,
                                   std::uint64_t max_bytes);

}  // namespace amct::passes
