#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/constant_operand.h"
#include "amct/passes/linear_layer.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct ConvMul {
  ir::Node* mul;
  LinearLayer fused;
};

class FuseConvMul final : public PatternPass<ConvMul> {
 public:
  explicit FuseConvMul(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_conv_mul"; }

 protected:
  std::optional<ConvMul> match(ir::Node& node) const override {
    const auto operand = constant_operand(node, "Mul", ir_version());
    if (!operand || !is_used(*node.output())) return std::nullopt;
    ir::Node* layer = sole_producer(node, operand->variable_index);
    if (layer == nullptr || listed(keep_, node) || listed(keep_, *layer)) return std::nullopt;
    if (!(is_op(*layer, "Conv") || is_op(*layer, "ConvTranspose"))) return std::nullopt;
    auto fused = read_linear_layer(*layer);
    if (!fused) return std::nullopt;
    const auto numbers =
        per_channel(*operand->constant, known_rank(*layer->output()), fused->output_channels);
    if (!numbers) return std::nullopt;
    scale_output_channels(*fused, *numbers);
    for (std::size_t c = 0; c < fused->bias.size(); ++c) fused->bias[c] *= (*numbers)[c];
    if (!fits_float(fused->weight) || !fits_float(fused->bias)) return std::nullopt;
    return ConvMul{&node, std::move(*fused)};
  }

  void rewrite(const ConvMul& match) const override {
    write_linear_layer(match.fused);
    remove_and_take_output(*match.mul, *match.fused.view.node);
  }

 private:
  NodeNames keep_;
};

}  // namespace

PassPtr fuse_conv_mul(NodeNames keep) { return std::make_unique<FuseConvMul>(std::move(keep)); }

}  // namespace amct::passes
