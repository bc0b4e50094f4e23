#include "amct/passes/batch_norm.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

bool in_inference_form(const ir::Node& node) {
  if (node.attribute_int("training_mode", 0) != 0 || node.attribute_int("spatial", 1) != 1)
    return false;
  // Before operator set 14, further outputs are what asks for training.
  return std::ranges::all_of(node.outputs().begin() + 1, node.outputs().end(),
                             [](const ir::Value* output) { return output->name().empty(); });
}

}  // namespace

std::optional<BatchNorm> read_batch_norm(const ir::Node& node) {
  if (!is_op(node, "BatchNormalization") || node.inputs().size() != 5 || node.outputs().empty() ||
      !in_inference_form(node))
    return std::nullopt;
  std::array<std::vector<double>, 4> parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ir::Tensor* tensor = float_weight(node.input(i + 1));
    if (tensor == nullptr || tensor->rank() != 1) return std::nullopt;
    parameters[i] = to_double(*tensor);
    if (parameters[i].empty() || parameters[i].size() != parameters[0].size()) return std::nullopt;
  }
  const auto& [gamma, beta, mean, variance] = parameters;
  const double epsilon = node.attribute_float("epsilon", 1e-5F);
  BatchNorm result;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    if (!(variance[c] + epsilon > 0.0)) return std::nullopt;
    result.scale.push_back(gamma[c] / std::sqrt(variance[c] + epsilon));
    result.shift.push_back(beta[c] - mean[c] * result.scale.back());
  }
  if (!fits_float(result.scale) || !fits_float(result.shift)) return std::nullopt;
  return result;
}

ir::Node* sole_producer(const ir::Node& node, std::size_t index) {
  const ir::Value* value = node.input(index);
  if (value == nullptr || value->producer() == nullptr || value->producer_index() != 0)
    return nullptr;
  return only_read_by(*value, node) ? value->producer() : nullptr;
}

bool listed(const std::vector<std::string>& names, const ir::Node& node) {
  return !node.name.empty() && std::ranges::find(names, node.name) != names.end();
}

}  // namespace amct::passes
