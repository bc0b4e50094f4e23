#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/ir/layer_view.h"

namespace amct::passes {

/// A Conv, ConvTranspose, Gemm or MatMul whose weight and bias are float32 constants that fit each
/// other, so that per-channel factors can be folded into them. MatMul: the weight has two
/// dimensions.
struct LinearLayer {
  ir::LayerView view;
  std::int64_t output_channels = 0;
  std::int64_t input_channels = 0;
  std::vector<double> weight;
  std::vector<double> bias;  // one per output channel; empty when the node has none
};

/// Empty when the node is no such layer; a Gemm with alpha or beta other than 1 is none.
std::optional<LinearLayer> read_linear_layer(ir::Node& node);

/// weight[..., o, ...] *= scale[o] for every output channel.
void scale_output_channels(LinearLayer& layer, const std::vector<double>& scale);
/// weight[..., i, ...] *= scale[i] for every input channel.
void scale_input_channels(LinearLayer& layer, const std::vector<double>& scale);
/// Sum of weight * shift over everything that meets in one output channel.
std::vector<double> apply_to_constant_input(const LinearLayer& layer,
                                            const std::vector<double>& shift);

/// Writes weight and, unless empty, bias back into the node (not for a MatMul's bias).
void write_linear_layer(const LinearLayer& layer);

}  // namespace amct::passes
