#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amct/base/quant_options.h"

namespace amct::config {

/// Parameters of non-uniform weight quantization; absent values have the defaults of
/// option_table.h.
struct NuqOptions {
  std::optional<std::uint32_t> num_steps;
  std::optional<std::uint32_t> num_of_iteration;
  bool operator==(const NuqOptions&) const = default;
};

/// Precision of scale_d in the quant operators of the fake-quant model (spec onnx_and_cli 17.1).
enum class FakequantPrecisionMode { kDefault, kForceFp16Quant };

/// One input tensor to quantize on its own (spec onnx_and_cli 16.5).
struct TensorQuantize {
  std::string layer_name;
  std::uint32_t input_index = 0;
  ActivationOptions activation;
  bool operator==(const TensorQuantize&) const = default;
};

/// How one layer is quantized (spec onnx_and_cli 16.2).
struct LayerConfig {
  bool quant_enable = true;
  std::optional<float> dmq_balancer_param;  // [0.2, 0.8]
  ActivationOptions activation;
  WeightOptions weight;
  std::optional<NuqOptions> nuq;
  bool channel_wise_inherited = false;  // not written in the file: validate() decides by the layer
  bool operator==(const LayerConfig&) const = default;
};

/// The resolved quantization config: content of the JSON config file (spec onnx_and_cli 16).
struct QuantConfig {
  int version = 1;
  std::uint32_t batch_num = 1;  // > 0
  bool activation_offset = true;
  bool joint_quant = false;
  bool do_fusion = true;
  std::vector<std::string> skip_fusion_layers;
  std::vector<TensorQuantize> tensor_quantize;
  std::optional<FakequantPrecisionMode> fakequant_precision_mode;
  std::vector<std::pair<std::string, LayerConfig>> layers;  // file order, unique names
  bool operator==(const QuantConfig&) const = default;

  /// Returns the entry of the layer, or null if it has none; valid until `layers` changes.
  [[nodiscard]] const LayerConfig* find_layer(std::string_view name) const {
    for (const auto& [layer, config] : layers) {
      if (layer == name) {
        return &config;
      }
    }
    return nullptr;
  }
};

}  // namespace amct::config
