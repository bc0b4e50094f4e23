#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "amct/ir/graph.h"

namespace amct::passes {

/// The two sides of an operation on one variable and one float32 constant.
struct ConstantOperand {
  std::size_t variable_index;
  const ir::Tensor* constant;
};

/// Empty unless `node` is `op_type` on exactly one constant (see float_constant) and one variable.
std::optional<ConstantOperand> constant_operand(const ir::Node& node, std::string_view op_type,
                                                std::int64_t ir_version);

}  // namespace amct::passes
