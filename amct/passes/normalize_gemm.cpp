#include <cmath>
#include <utility>

#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct GemmForm {
  ir::Node* node;
  std::optional<ir::Tensor> weight;  // with alpha, not transposed
  std::optional<ir::Tensor> bias;    // with beta, [N] where it is the same for all rows
  bool idle_beta;                    // there is no C to scale
};

ir::Tensor transposed(const std::vector<double>& values, std::int64_t rows, std::int64_t columns) {
  const auto height = static_cast<std::size_t>(rows);
  const auto width = static_cast<std::size_t>(columns);
  std::vector<double> result(values.size());
  for (std::size_t r = 0; r < height; ++r)
    for (std::size_t c = 0; c < width; ++c) result[c * height + r] = values[r * width + c];
  return to_float_tensor({columns, rows}, result);
}

bool scale_exactly(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
  return fits_float(values);
}

/// The weight with alpha and transB folded in; empty when there is nothing to fold or it cannot be.
std::optional<ir::Tensor> normal_weight(const ir::Node& node) {
  const ir::Tensor* weight = float_weight(node.input(1));
  const float alpha = node.attribute_float("alpha", 1.0F);
  const bool turned = node.attribute_int("transB", 0) != 0;
  if (weight == nullptr || weight->rank() != 2 || node.input(0) == node.input(1))
    return std::nullopt;
  if (alpha == 1.0F && !turned) return std::nullopt;
  std::vector<double> values = to_double(*weight);
  if (alpha != 1.0F && !scale_exactly(values, alpha)) return std::nullopt;
  if (turned) return transposed(values, weight->dims()[0], weight->dims()[1]);
  return to_float_tensor(weight->dims(), values);
}

/// The bias with beta folded in and, unless its rows differ, as [N].
std::optional<ir::Tensor> normal_bias(const ir::Node& node) {
  const ir::Tensor* bias = float_weight(node.input(2));
  const ir::Value* weight = node.input(1);
  if (bias == nullptr || bias->rank() > 2 || weight == nullptr || weight->constant() == nullptr ||
      weight->constant()->rank() != 2)
    return std::nullopt;
  const std::int64_t columns =
      weight->constant()->dims()[node.attribute_int("transB", 0) != 0 ? 0 : 1];
  const float beta = node.attribute_float("beta", 1.0F);
  std::vector<double> values = to_double(*bias);
  std::vector<std::int64_t> dims = bias->dims();
  const bool one = values.size() == 1;
  const bool row = bias->rank() == 2 && dims[0] == 1 && dims[1] == columns;
  const bool normal = dims == std::vector<std::int64_t>{columns};
  if (beta == 1.0F && (normal || !(one || row))) return std::nullopt;
  if (beta != 1.0F && !scale_exactly(values, beta)) return std::nullopt;
  if (one) values.assign(static_cast<std::size_t>(columns), values.front());
  if (one || row) dims = {columns};
  return to_float_tensor(std::move(dims), values);
}

class NormalizeGemm final : public PatternPass<GemmForm> {
 public:
  std::string_view name() const override { return "normalize_gemm"; }

 protected:
  std::optional<GemmForm> match(ir::Node& node) const override {
    if (!is_op(node, "Gemm")) return std::nullopt;
    const bool idle_beta = node.input(2) == nullptr && node.find_attribute("beta") != nullptr;
    GemmForm form{&node, normal_weight(node), normal_bias(node), idle_beta};
    if (!form.weight && !form.bias && !idle_beta) return std::nullopt;
    return form;
  }

  void rewrite(const GemmForm& match) const override {
    ir::Node& node = *match.node;
    if (match.weight) {
      set_constant_input(node, 1, *match.weight, "");
      node.remove_attribute("alpha");
      node.remove_attribute("transB");
    }
    if (match.bias) set_constant_input(node, 2, *match.bias, "");
    if (match.bias || match.idle_beta) node.remove_attribute("beta");
  }
};

}  // namespace

PassPtr normalize_gemm() { return std::make_unique<NormalizeGemm>(); }

}  // namespace amct::passes
