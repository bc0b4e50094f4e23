#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amct/base/quant_options.h"
#include "amct/ir/layer_view.h"
#include "amct/ir/tensor.h"

namespace amct::passes {

/// A layer that could be quantized by its kind, and why not, if so. In graph order.
struct Candidate {
  std::string layer;  // node name
  std::string op_type;
  std::string activation;  // name of the tensor to calibrate; empty when there is none
  int weight_rank = 0;     // 0: no weight
  bool per_channel_allowed = false;
  /// Empty: can be quantized. Else one plain sentence: what stands in the way.
  std::string reason;
};

/// What the user wants for one layer, and what calibration found.
struct LayerRequest {
  std::string layer;
  ActivationOptions activation;
  WeightOptions weight;
  QuantFactor factor;
  /// From a record file; empty: found by ARQ.
  std::vector<float> weight_scales;
};

/// An input of a MaxPool or Add that is to be quantized on its own.
struct InputRequest {
  std::string node;
  std::size_t input_index = 0;
  ActivationOptions activation;
  QuantFactor factor;

  /// "<node>:<input index>", its name in record files and reports.
  std::string key() const { return node + ":" + std::to_string(input_index); }
};

/// Everything needed to quantize one layer, in numbers. Weight and bias have the node's own layout.
struct LayerPlan {
  std::string layer;
  ir::LayerKind kind{};
  QuantFactor activation;
  int activation_bits = 8;
  int weight_bits = 8;
  std::vector<float> weight_scales;  // 1 or output channels; {1} without weight
  std::optional<ir::Tensor> weight;  // int8
  std::optional<ir::Tensor> bias;    // int32, round(bias / (scale_d * scale_w)), no offset term
  /// Output channels whose weight scale was raised so that the bias fits int32.
  std::vector<std::int64_t> raised_channels;
};

/// An input that reaches its node through integers: quantized, and at once real numbers again.
struct InputPlan {
  std::string node;
  std::size_t input_index = 0;
  QuantFactor factor;
  int bits = 8;

  std::string key() const { return node + ":" + std::to_string(input_index); }
};

/// A QuantizeLinear that computes an output of the graph: the output stays in integers, signed
/// ones.
struct OutputPlan {
  std::string node;
  QuantFactor factor;
  int bits = 8;
};

struct SkippedLayer {
  std::string layer;
  std::string op_type;
  std::string reason;
};

/// Layers stand in graph order.
struct QuantPlan {
  std::vector<LayerPlan> layers;
  std::vector<InputPlan> inputs;
  std::vector<OutputPlan> outputs;
  std::vector<SkippedLayer> skipped;
};

/// float32(scale_d * scale_w) per weight scale: the factor from the int32 accumulator to the
/// output.
std::vector<float> dequant_scales(const LayerPlan& plan);

}  // namespace amct::passes
