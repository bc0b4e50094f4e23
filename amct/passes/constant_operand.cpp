#include "amct/passes/constant_operand.h"

#include "amct/passes/pattern.h"

namespace amct::passes {

std::optional<ConstantOperand> constant_operand(const ir::Node& node, std::string_view op_type,
                                                std::int64_t ir_version) {
  if (!is_op(node, op_type) || node.inputs().size() != 2 || node.outputs().size() != 1)
    return std::nullopt;
  const ir::Tensor* left = float_constant(node.input(0), ir_version);
  const ir::Tensor* right = float_constant(node.input(1), ir_version);
  if ((left == nullptr) == (right == nullptr)) return std::nullopt;
  const std::size_t variable = left != nullptr ? 1 : 0;
  if (node.input(variable) == nullptr) return std::nullopt;
  return ConstantOperand{variable, left != nullptr ? left : right};
}

}  // namespace amct::passes
