#include "amct/ir/layer_view.h"

namespace amct::ir {

const char* to_string(LayerKind kind) {
  switch (kind) {
    case LayerKind::kConv:
      return "Conv";
    case LayerKind::kConvTranspose:
      return "ConvTranspose";
    case LayerKind::kGemm:
      return "Gemm";
    case LayerKind::kMatMul:
      return "MatMul";
    case LayerKind::kAveragePool:
      return "AveragePool";
  }
  return "";
}

namespace {

std::optional<LayerKind> kind_of(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return std::nullopt;
  for (const LayerKind kind : {LayerKind::kConv, LayerKind::kConvTranspose, LayerKind::kGemm,
                               LayerKind::kMatMul, LayerKind::kAveragePool})
    if (node.op_type == to_string(kind)) return kind;
  return std::nullopt;
}

void set_channel_axes(LayerView& view) {
  const Tensor* weight = view.weight != nullptr ? view.weight->constant() : nullptr;
  const std::size_t rank = weight != nullptr ? weight->rank() : 2;
  switch (view.kind) {
    case LayerKind::kConv:
      view.output_channel_axis = 0;
      view.input_channel_axis = 1;
      break;
    case LayerKind::kConvTranspose:
      view.output_channel_axis = 1;
      view.input_channel_axis = 0;
      break;
    case LayerKind::kGemm: {
      const bool transposed = view.node->attribute_int("transB", 0) != 0;
      view.output_channel_axis = transposed ? 0 : 1;
      view.input_channel_axis = transposed ? 1 : 0;
      break;
    }
    default:
      view.output_channel_axis = rank - 1;
      view.input_channel_axis = rank >= 2 ? rank - 2 : 0;
      break;
  }
  if (weight == nullptr || view.output_channel_axis >= rank) return;
  view.output_channels = weight->dims()[view.output_channel_axis];
  if (view.kind == LayerKind::kConvTranspose) view.output_channels *= view.groups;
}

}  // namespace

std::optional<LayerView> view_onnx_layer(Node& node) {
  const std::optional<LayerKind> kind = kind_of(node);
  if (!kind) return std::nullopt;
  LayerView view;
  view.node = &node;
  view.kind = *kind;
  view.activation = node.input(0);
  if (*kind != LayerKind::kAveragePool) {
    view.weight_index = 1;
    view.weight = node.input(1);
  }
  if (*kind == LayerKind::kConv || *kind == LayerKind::kConvTranspose) {
    view.groups = node.attribute_int("group", 1);
  }
  if (node.input(2) != nullptr && *kind != LayerKind::kMatMul) {
    view.bias_index = 2;
    view.bias = node.input(2);
  }
  if (*kind != LayerKind::kAveragePool) set_channel_axes(view);
  return view;
}

}  // namespace amct::ir
