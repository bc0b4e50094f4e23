#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/constant_operand.h"
#include "amct/passes/linear_layer.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct ConvAdd {
  ir::Node* add;
  LinearLayer fused;
};

class FuseConvAdd final : public PatternPass<ConvAdd> {
 public:
  explicit FuseConvAdd(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_conv_add"; }

 protected:
  std::optional<ConvAdd> match(ir::Node& node) const override {
    const auto operand = constant_operand(node, "Add", ir_version());
    if (!operand || !is_used(*node.output())) return std::nullopt;
    ir::Node* layer = sole_producer(node, operand->variable_index);
    if (layer == nullptr || listed(keep_, node) || listed(keep_, *layer)) return std::nullopt;
    if (!(is_op(*layer, "Conv") || is_op(*layer, "ConvTranspose") || is_op(*layer, "Gemm")))
      return std::nullopt;
    auto fused = read_linear_layer(*layer);
    if (!fused) return std::nullopt;
    const auto numbers =
        per_channel(*operand->constant, known_rank(*layer->output()), fused->output_channels);
    if (!numbers) return std::nullopt;
    fused->bias.resize(numbers->size(), 0.0);
    for (std::size_t c = 0; c < numbers->size(); ++c) fused->bias[c] += (*numbers)[c];
    if (!fits_float(fused->weight) || !fits_float(fused->bias)) return std::nullopt;
    return ConvAdd{&node, std::move(*fused)};
  }

  void rewrite(const ConvAdd& match) const override {
    write_linear_layer(match.fused);
    remove_and_take_output(*match.add, *match.fused.view.node);
  }

 private:
  NodeNames keep_;
};

}  // namespace

PassPtr fuse_conv_add(NodeNames keep) { return std::make_unique<FuseConvAdd>(std::move(keep)); }

}  // namespace amct::passes
