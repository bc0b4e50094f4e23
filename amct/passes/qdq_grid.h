#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "amct/ir/layer_view.h"

namespace amct::passes {

/// What a QuantizeLinear or DequantizeLinear says of its tensor: x' = (q - zero_point) * scale.
struct QdqGrid {
  std::vector<float> scales;  // 1, or one per channel
  std::vector<std::int64_t>
      offsets;   // signed zero points, as many: those of unsigned types shifted
  int bits = 8;  // 8 or 16; 32 for biases
  bool is_unsigned = false;
  std::int64_t axis = 0;  // of several scales; negative: from the last dimension
  /// Why the NPU cannot compute on it; empty when it can, as data or as a weight.
  std::string problem;
  bool operator==(const QdqGrid&) const = default;
};

/// Whether the node quantizes (dequantizes) in the way of ONNX; onnxruntime's own domain counts
/// too.
bool is_quantize_linear(const ir::Node& node);
bool is_dequantize_linear(const ir::Node& node);

/// Reads the constants and attributes of such a node.
QdqGrid read_grid(const ir::Node& node);

/// The real numbers that a constant of integers stands for, or that a float32 constant becomes on
/// the grid. Throws Error(kInvalidModel) when the scales do not fit its dimensions.
ir::Tensor dequantized(const ir::Tensor& integers, const QdqGrid& grid);
ir::Tensor quantized_and_dequantized(const ir::Tensor& real, const QdqGrid& grid);

/// Scales of the layer's weight, one or one per output channel. Throws Error(kUnsupported) with the
/// reason when the NPU cannot take the weight on this grid, or when it has left the grid since.
std::vector<float> weight_scales_of(const ir::LayerView& view, const QdqGrid& grid);

}  // namespace amct::passes
