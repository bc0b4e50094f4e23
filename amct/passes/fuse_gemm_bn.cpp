#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/linear_layer.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct GemmBn {
  ir::Node* bn;
  LinearLayer fused;
};

class FuseGemmBn final : public PatternPass<GemmBn> {
 public:
  explicit FuseGemmBn(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_gemm_bn"; }

 protected:
  std::optional<GemmBn> match(ir::Node& node) const override {
    const auto bn = read_batch_norm(node);
    ir::Node* gemm = bn ? sole_producer(node, 0) : nullptr;
    if (gemm == nullptr || listed(keep_, node) || listed(keep_, *gemm) || !is_used(*node.output()))
      return std::nullopt;
    // On more dimensions a MatMul's columns are not the channels of the normalization.
    const bool flat_matmul = is_op(*gemm, "MatMul") && gemm->input(0) != nullptr &&
                             known_rank(*gemm->input(0)) == std::size_t{2};
    if (!is_op(*gemm, "Gemm") && !flat_matmul) return std::nullopt;
    auto layer = read_linear_layer(*gemm);
    if (!layer || layer->output_channels != static_cast<std::int64_t>(bn->scale.size()))
      return std::nullopt;
    scale_output_channels(*layer, bn->scale);
    layer->bias.resize(bn->scale.size(), 0.0);
    for (std::size_t c = 0; c < bn->scale.size(); ++c)
      layer->bias[c] = layer->bias[c] * bn->scale[c] + bn->shift[c];
    if (!fits_float(layer->weight) || !fits_float(layer->bias)) return std::nullopt;
    return GemmBn{&node, std::move(*layer)};
  }

  void rewrite(const GemmBn& match) const override {
    write_linear_layer(match.fused);
    ir::Node& gemm = *match.fused.view.node;
    if (match.fused.view.kind == ir::LayerKind::kGemm)
      remove_and_take_output(*match.bn, gemm);
    else
      turn_into_add(*match.bn, match.fused);
  }

 private:
  /// MatMul has no bias of its own: the normalization becomes the Add behind it.
  static void turn_into_add(ir::Node& bn, const LinearLayer& layer) {
    ir::Graph& graph = *bn.graph();
    ir::Value* bias = graph.add_constant(layer.view.node->name + ".bias",
                                         to_float_tensor({layer.output_channels}, layer.bias));
    ir::Value* placeholder = graph.add_value(graph.unique_name(bn.output()->name()));
    ir::Node* add = graph.add_node("Add", {bn.input(0), bias}, {placeholder}, &bn);
    const std::string name = bn.name;
    remove_and_take_output(bn, *add);
    add->name = name;
  }

  NodeNames keep_;
};

}  // namespace

PassPtr fuse_gemm_bn(NodeNames keep) { return std::make_unique<FuseGemmBn>(std::move(keep)); }

}  // namespace amct::passes
