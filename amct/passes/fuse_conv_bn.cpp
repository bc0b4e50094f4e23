#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/linear_layer.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct ConvBn {
  ir::Node* bn;
  LinearLayer fused;
};

class FuseConvBn final : public PatternPass<ConvBn> {
 public:
  explicit FuseConvBn(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_conv_bn"; }

 protected:
  std::optional<ConvBn> match(ir::Node& node) const override {
    const auto bn = read_batch_norm(node);
    ir::Node* conv = bn ? sole_producer(node, 0) : nullptr;
    if (conv == nullptr || !(is_op(*conv, "Conv") || is_op(*conv, "ConvTranspose")))
      return std::nullopt;
    if (listed(keep_, node) || listed(keep_, *conv) || !is_used(*node.output()))
      return std::nullopt;
    auto layer = read_linear_layer(*conv);
    if (!layer || layer->output_channels != static_cast<std::int64_t>(bn->scale.size()))
      return std::nullopt;
    scale_output_channels(*layer, bn->scale);
    layer->bias.resize(bn->scale.size(), 0.0);
    for (std::size_t c = 0; c < bn->scale.size(); ++c)
      layer->bias[c] = layer->bias[c] * bn->scale[c] + bn->shift[c];
    if (!fits_float(layer->weight) || !fits_float(layer->bias)) return std::nullopt;
    return ConvBn{&node, std::move(*layer)};
  }

  void rewrite(const ConvBn& match) const override {
    write_linear_layer(match.fused);
    remove_and_take_output(*match.bn, *match.fused.view.node);
  }

 private:
  NodeNames keep_;
};

}  // namespace

PassPtr fuse_conv_bn(NodeNames keep) { return std::make_unique<FuseConvBn>(std::move(keep)); }

}  // namespace amct::passes
