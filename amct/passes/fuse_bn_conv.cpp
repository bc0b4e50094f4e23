#include <algorithm>
#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/linear_layer.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct BnConv {
  ir::Node* bn;
  LinearLayer fused;
};

/// Padding inserts zeros behind the normalization, which no bias can express.
bool is_unpadded_conv(const ir::Node& node) {
  if (!is_op(node, "Conv")) return false;
  const std::string mode = node.attribute_string("auto_pad", "NOTSET");
  if (mode == "VALID") return true;
  const auto pads = node.attribute_ints("pads", {});
  return mode == "NOTSET" && std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; });
}

/// The normalization's channels are the columns that the product sums over.
bool sums_over_channels(const ir::Node& node, const ir::Value& normalized) {
  if (is_op(node, "Gemm")) return node.attribute_int("transA", 0) == 0;
  return is_op(node, "MatMul") && known_rank(normalized) == std::size_t{2};
}

class FuseBnConv final : public PatternPass<BnConv> {
 public:
  explicit FuseBnConv(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_bn_conv"; }

 protected:
  std::optional<BnConv> match(ir::Node& node) const override {
    const auto bn = read_batch_norm(node);
    if (!bn || node.output()->uses().size() != 1 || node.input(0) == nullptr) return std::nullopt;
    ir::Node& conv = *node.output()->uses().front().node;
    if (!only_read_by(*node.output(), conv) || node.output()->uses().front().index != 0)
      return std::nullopt;
    if (listed(keep_, node) || listed(keep_, conv)) return std::nullopt;
    if (!is_unpadded_conv(conv) && !sums_over_channels(conv, *node.output())) return std::nullopt;
    auto layer = read_linear_layer(conv);
    if (!layer || layer->input_channels != static_cast<std::int64_t>(bn->scale.size()) ||
        !is_used(*conv.output()))
      return std::nullopt;
    const std::vector<double> shifted = apply_to_constant_input(*layer, bn->shift);
    scale_input_channels(*layer, bn->scale);
    layer->bias.resize(shifted.size(), 0.0);
    for (std::size_t c = 0; c < shifted.size(); ++c) layer->bias[c] += shifted[c];
    if (!fits_float(layer->weight) || !fits_float(layer->bias)) return std::nullopt;
    return BnConv{&node, std::move(*layer)};
  }

  void rewrite(const BnConv& match) const override {
    ir::Node& conv = *match.fused.view.node;
    write_linear_layer(match.fused);
    if (match.fused.view.kind == ir::LayerKind::kMatMul) add_bias(match.fused);
    conv.set_input(0, match.bn->input(0));
    remove_with_constants(*match.bn);
  }

 private:
  /// MatMul has no bias of its own: an Add takes over its output's name.
  static void add_bias(const LinearLayer& layer) {
    const bool zero = std::ranges::all_of(layer.bias, [](double b) { return b == 0.0; });
    if (zero) return;
    ir::Node& matmul = *layer.view.node;
    ir::Graph& graph = *matmul.graph();
    ir::Value* output = matmul.output();
    ir::Value* bias = graph.add_constant(matmul.name + ".bias",
                                         to_float_tensor({layer.output_channels}, layer.bias));
    ir::Value* product = graph.add_value(graph.unique_name(output->name() + ".product"));
    product->type = output->type;
    graph.give_producer(product, &matmul);
    ir::Node* add = graph.add_node("Add", {product, bias}, {output}, &matmul);
    add->name = graph.unique_node_name(matmul.name + ".add_bias");
    graph.move_before(&matmul, add);
  }

  NodeNames keep_;
};

}  // namespace

PassPtr fuse_bn_conv(NodeNames keep) { return std::make_unique<FuseBnConv>(std::move(keep)); }

}  // namespace amct::passes
