#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::ir {

enum class LayerKind { kConv, kConvTranspose, kGemm, kMatMul, kAveragePool };

/// "Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool".
const char* to_string(LayerKind kind);

/// What every algorithm needs to know of one layer, whatever format it came from. Points into the
/// graph and is valid as long as the node is not changed.
struct LayerView {
  Node* node = nullptr;
  LayerKind kind{};
  std::size_t activation_index = 0;         // input of node
  std::optional<std::size_t> weight_index;  // none for AveragePool
  std::optional<std::size_t> bias_index;    // of node itself; a MatMul's bias Add is not part
  Value* activation = nullptr;
  Value* weight = nullptr;  // may lack constant(): the caller decides
  Value* bias = nullptr;
  std::int64_t groups = 1;
  /// Axis of the weight that runs over output channels (of one group for ConvTranspose).
  std::size_t output_channel_axis = 0;
  std::size_t input_channel_axis = 1;
  /// Output channels in all groups; 0 when the weight is not constant.
  std::int64_t output_channels = 0;
};

/// Describes a node of the ONNX dialect; empty when it is no such layer.
std::optional<LayerView> view_onnx_layer(Node& node);

}  // namespace amct::ir
