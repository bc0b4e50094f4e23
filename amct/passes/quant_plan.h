#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "amct/base/quant_options.h"
#include "amct/ir/graph.h"
#include "amct/ir/layer_view.h"

namespace amct::passes {

/// A layer that could be quantized by its kind, and why not, if so. In graph order.
struct Candidate {
  std::string layer;    // node name
  std::string op_type;
  ir::LayerKind kind{};
  std::string activation;  // name of the tensor to calibrate
  int weight_rank = 0;     // 0: no weight
  bool per_channel_allowed = false;
  /// Empty: can be quantized. Else one plain sentence: what stands in the way, and the way out.
  std::string reason;
};

/// What the user wants for one layer.
struct LayerRequest {
  std::string layer;
  ActivationOptions activation;
  WeightOptions weight;
};

/// Everything needed to quantize one layer, in numbers. Weight and bias have the node's own layout.
struct LayerPlan {
  std::string layer;
  ir::LayerKind kind{};
  QuantFactor activation;
  int activation_bits = 8;
  int weight_bits = 8;
  std::vector<float> weight_scales;    // 1 or output channels; empty without weight
  std::optional<ir::Tensor> weight;    // int8, layout of the node
  /// int32 [output channels], round(bias / (scale_d * scale_w)) without a term of the offset.
  std::optional<ir::Tensor> bias;
  /// Name of the Add that holds the bias of a MatMul; empty when the layer has its own or none.
  std::string bias_add;
  /// Output channels whose weight scale was raised so that the bias fits int32.
  std::vector<std::int64_t> raised_channels;
};

struct SkippedLayer {
  std::string layer;
  std::string op_type;
  std::string reason;
};

struct QuantPlan {
  std::vector<LayerPlan> layers;
  std::vector<SkippedLayer> skipped;
};

}  // namespace amct::passes
