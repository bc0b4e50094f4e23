#include "amct/passes/linear_layer.h"

#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using ir::LayerKind;

bool has_room_for_channels(const ir::LayerView& view, const ir::Tensor& weight) {
  if (weight.empty()) return false;
  const bool convolves = view.kind == LayerKind::kConv || view.kind == LayerKind::kConvTranspose;
  if (!convolves) return weight.rank() == 2;
  return weight.rank() >= 3 && view.groups >= 1 && weight.dims()[0] % view.groups == 0;
}

/// The bias as one number per output channel; false when it has another form.
bool read_bias(const ir::LayerView& view, LinearLayer& layer) {
  if (view.bias == nullptr) return true;
  const ir::Tensor* bias = float_weight(view.bias);
  if (bias == nullptr) return false;
  const auto channels = static_cast<std::size_t>(layer.output_channels);
  const std::vector<double> values = to_double(*bias);
  if (bias->rank() == 1 && values.size() == channels) layer.bias = values;
  if (view.kind == LayerKind::kGemm && bias->rank() <= 2) {
    if (values.size() == 1) layer.bias.assign(channels, values.front());
    const bool row = bias->rank() == 2 && bias->dims()[0] == 1 && values.size() == channels;
    if (row) layer.bias = values;
  }
  return !layer.bias.empty();
}

/// Calls visit(flat index, output channel, input channel) for every weight.
template <typename Visit>
void for_each_weight(const LinearLayer& layer, const Visit& visit) {
  const auto& dims = layer.view.weight->constant()->dims();
  const auto rows = static_cast<std::size_t>(dims[0]);
  const auto columns = static_cast<std::size_t>(dims[1]);
  const std::size_t inner = layer.weight.size() / (rows * columns);
  const std::size_t rows_per_group = rows / static_cast<std::size_t>(layer.view.groups);
  const bool row_is_output = layer.view.output_channel_axis == 0;
  for (std::size_t row = 0, flat = 0; row < rows; ++row) {
    const std::size_t group_start = row / rows_per_group * columns;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t other = group_start + column;
      for (std::size_t k = 0; k < inner; ++k, ++flat)
        visit(flat, row_is_output ? row : other, row_is_output ? other : row);
    }
  }
}

}  // namespace

std::optional<LinearLayer> read_linear_layer(ir::Node& node) {
  const auto view = ir::view_onnx_layer(node);
  if (!view || view->kind == LayerKind::kAveragePool || node.outputs().empty()) return std::nullopt;
  if (view->activation == nullptr || view->activation == view->weight) return std::nullopt;
  const ir::Tensor* weight = float_weight(view->weight);
  if (weight == nullptr || !has_room_for_channels(*view, *weight)) return std::nullopt;
  if (view->kind == LayerKind::kGemm &&
      (node.attribute_float("alpha", 1.0F) != 1.0F || node.attribute_float("beta", 1.0F) != 1.0F))
    return std::nullopt;
  LinearLayer layer;
  layer.view = *view;
  layer.output_channels = view->output_channels;
  layer.input_channels = weight->dims()[view->input_channel_axis];
  if (view->kind == LayerKind::kConv) layer.input_channels *= view->groups;
  if (!read_bias(*view, layer)) return std::nullopt;
  layer.weight = to_double(*weight);
  return layer;
}

void scale_output_channels(LinearLayer& layer, const std::vector<double>& scale) {
  for_each_weight(layer, [&](std::size_t flat, std::size_t output, std::size_t) {
    layer.weight[flat] *= scale[output];
  });
}

void scale_input_channels(LinearLayer& layer, const std::vector<double>& scale) {
  for_each_weight(layer, [&](std::size_t flat, std::size_t, std::size_t input) {
    layer.weight[flat] *= scale[input];
  });
}

std::vector<double> apply_to_constant_input(const LinearLayer& layer,
                                            const std::vector<double>& shift) {
  std::vector<double> sums(static_cast<std::size_t>(layer.output_channels), 0.0);
  for_each_weight(layer, [&](std::size_t flat, std::size_t output, std::size_t input) {
    sums[output] += layer.weight[flat] * shift[input];
  });
  return sums;
}

void write_linear_layer(const LinearLayer& layer) {
  ir::Node& node = *layer.view.node;
  const auto dims = layer.view.weight->constant()->dims();
  set_constant_input(node, *layer.view.weight_index, to_float_tensor(dims, layer.weight),
                     node.name + ".weight");
  if (layer.view.kind == LayerKind::kMatMul || layer.bias.empty()) return;
  set_constant_input(node, 2, to_float_tensor({layer.output_channels}, layer.bias),
                     node.name + ".bias");
}

}  // namespace amct::passes
