#include "amct/passes/qdq_grid.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "amct/base/error.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::LayerKind;
using ir::Tensor;

/// Largest distance from an integer, in steps, that rounding in float32 explains.
constexpr float kOnGrid = 1e-3F;

bool is_linear(const ir::Node& node, std::string_view op_type) {
  return node.op_type == op_type &&
         (node.domain.empty() || node.domain == "ai.onnx" || node.domain == "com.microsoft");
}

/// Type of the integers: that of the zero point, else the attribute's, else that of constant data.
DataType integer_type(const ir::Node& node) {
  const ir::Value* zero_point = node.input(2);
  if (zero_point != nullptr)
    return zero_point->constant() != nullptr ? zero_point->constant()->type()
                                             : zero_point->type.data_type;
  const std::int64_t declared = node.attribute_int("output_dtype", 0);
  if (is_quantize_linear(node) && declared != 0) return static_cast<DataType>(declared);
  const ir::Value* data = node.input(0);
  if (is_dequantize_linear(node) && data != nullptr && data->constant() != nullptr)
    return data->constant()->type();
  return DataType::kUInt8;
}

int bits_of(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUInt8:
      return 8;
    case DataType::kInt16:
    case DataType::kUInt16:
      return 16;
    case DataType::kInt32:
      return 32;
    default:
      return 0;
  }
}

std::string read_numbers(const ir::Node& node, QdqGrid& grid) {
  const ir::Value* scale = node.input(1);
  if (scale == nullptr || scale->constant() == nullptr) return "its scale is not constant";
  if (scale->constant()->type() != DataType::kFloat)
    return fmt::format("its scale is {}; only float32 models are converted",
                       ir::to_string(scale->constant()->type()));
  const auto scales = scale->constant()->values<float>();
  grid.scales.assign(scales.begin(), scales.end());
  if (grid.scales.empty() || scale->constant()->rank() > 1 ||
      node.attribute_int("block_size", 0) != 0)
    return "it has a scale for each block; the NPU takes one scale, or one per output channel";
  if (!std::ranges::all_of(grid.scales, [](float one) { return std::isfinite(one) && one > 0; }))
    return "its scale is not a positive, finite number";
  grid.offsets.assign(grid.scales.size(), grid.is_unsigned ? -(1LL << (grid.bits - 1)) : 0);
  if (node.input(2) == nullptr) return {};
  if (node.input(2)->constant() == nullptr) return "its zero point is not constant";
  const std::vector<std::int64_t> zero_points = ir::to_int64(*node.input(2)->constant());
  if (zero_points.size() != grid.scales.size())
    return fmt::format("it has {} scales and {} zero points", grid.scales.size(),
                       zero_points.size());
  for (std::size_t i = 0; i < zero_points.size(); ++i) grid.offsets[i] += zero_points[i];
  return {};
}

/// Walks a tensor with the scale index of each element.
template <typename Visit>
void for_each_element(const Tensor& tensor, const QdqGrid& grid, const Visit& visit) {
  const auto size = static_cast<std::size_t>(tensor.size());
  std::size_t channels = 1;
  std::size_t inner = size;
  if (grid.scales.size() > 1) {
    const auto rank = static_cast<std::int64_t>(tensor.rank());
    const std::int64_t axis = grid.axis < 0 ? grid.axis + rank : grid.axis;
    channels = grid.scales.size();
    if (axis < 0 || axis >= rank ||
        tensor.dims()[static_cast<std::size_t>(axis)] != static_cast<std::int64_t>(channels))
      raise(ErrorCode::kInvalidModel,
            "{} scales along axis {} do not fit a tensor of {} dimensions", channels, grid.axis,
            rank);
    inner = 1;
    for (auto d = static_cast<std::size_t>(axis) + 1; d < tensor.rank(); ++d)
      inner *= static_cast<std::size_t>(tensor.dims()[d]);
  }
  std::size_t i = 0;
  while (i < size)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t k = 0; k < inner; ++k, ++i) visit(i, c);
}

/// Scales as many as the layer has output channels, when the grid runs along them.
std::vector<float> channel_scales(const ir::LayerView& view, const QdqGrid& grid) {
  const Tensor& weight = *view.weight->constant();
  if (view.kind != LayerKind::kConv && view.kind != LayerKind::kConvTranspose)
    raise(ErrorCode::kUnsupported,
          "its weight is quantized per channel; {} takes one scale for the whole weight",
          ir::to_string(view.kind));
  const auto rank = static_cast<std::int64_t>(weight.rank());
  const std::int64_t axis = grid.axis < 0 ? grid.axis + rank : grid.axis;
  if (axis != static_cast<std::int64_t>(view.output_channel_axis))
    raise(ErrorCode::kUnsupported,
          "its weight is quantized along axis {}; expected the output channels, axis {}", axis,
          view.output_channel_axis);
  const std::int64_t repeats = view.kind == LayerKind::kConvTranspose ? view.groups : 1;
  std::vector<float> scales;
  for (std::int64_t group = 0; group < repeats; ++group)
    scales.insert(scales.end(), grid.scales.begin(), grid.scales.end());
  return scales;
}

bool is_on_grid(const Tensor& weight, const QdqGrid& grid) {
  const auto values = weight.values<float>();
  const auto half = static_cast<float>(1 << (grid.bits - 1));
  bool on_grid = true;
  for_each_element(weight, grid, [&](std::size_t i, std::size_t c) {
    const float steps = values[i] / grid.scales[c];
    on_grid &= std::abs(steps - std::nearbyint(steps)) <= kOnGrid && std::abs(steps) <= half;
  });
  return on_grid;
}

}  // namespace

bool is_quantize_linear(const ir::Node& node) { return is_linear(node, "QuantizeLinear"); }

bool is_dequantize_linear(const ir::Node& node) { return is_linear(node, "DequantizeLinear"); }

QdqGrid read_grid(const ir::Node& node) {
  QdqGrid grid;
  const DataType type = integer_type(node);
  grid.is_unsigned = type == DataType::kUInt8 || type == DataType::kUInt16;
  grid.bits = bits_of(type);
  grid.axis = node.attribute_int("axis", 1);
  if (grid.bits == 0) {
    grid.problem = fmt::format("its integers are {}; the NPU takes INT8, UINT8, INT16 and UINT16",
                               ir::to_string(type));
    return grid;
  }
  grid.problem = read_numbers(node, grid);
  return grid;
}

Tensor dequantized(const Tensor& integers, const QdqGrid& grid) {
  const std::vector<std::int64_t> values = ir::to_int64(integers);
  const std::int64_t shift = grid.is_unsigned ? 1LL << (grid.bits - 1) : 0;
  Tensor result = Tensor::zeros(DataType::kFloat, integers.dims());
  const auto out = result.mutable_values<float>();
  for_each_element(integers, grid, [&](std::size_t i, std::size_t c) {
    out[i] = static_cast<float>(values[i] - shift - grid.offsets[c]) * grid.scales[c];
  });
  return result;
}

Tensor quantized_and_dequantized(const Tensor& real, const QdqGrid& grid) {
  const auto values = real.values<float>();
  const auto half = static_cast<float>(std::int64_t{1} << (grid.bits - 1));
  Tensor result = Tensor::zeros(DataType::kFloat, real.dims());
  const auto out = result.mutable_values<float>();
  for_each_element(real, grid, [&](std::size_t i, std::size_t c) {
    const auto offset = static_cast<float>(grid.offsets[c]);
    const float steps = std::nearbyint(values[i] / grid.scales[c]) + offset;
    out[i] = (std::clamp(steps, -half, half - 1.0F) - offset) * grid.scales[c];
  });
  return result;
}

std::vector<float> weight_scales_of(const ir::LayerView& view, const QdqGrid& grid) {
  if (!grid.problem.empty())
    raise(ErrorCode::kUnsupported, "the quantization of its weight does not fit: {}", grid.problem);
  if (grid.bits != 8)
    raise(ErrorCode::kUnsupported, "its weight has {} bits; the NPU takes 8", grid.bits);
  if (!std::ranges::all_of(grid.offsets, [](std::int64_t offset) { return offset == 0; }))
    raise(ErrorCode::kUnsupported,
          "the zero point of its weight is not {}; the NPU takes symmetric weights only",
          grid.is_unsigned ? 128 : 0);
  std::vector<float> scales = grid.scales.size() == 1 ? grid.scales : channel_scales(view, grid);
  if (!is_on_grid(*view.weight->constant(), grid))
    raise(ErrorCode::kUnsupported,
          "its weight is changed between DequantizeLinear and the layer, so that the scales no "
          "longer fit");
  return scales;
}

}  // namespace amct::passes
