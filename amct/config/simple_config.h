#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "amct/config/model_info.h"
#include "amct/config/quant_config.h"

namespace amct::config {

/// ARQuantize as written; absent values are inherited.
struct ArqSetting {
  std::optional<bool> channel_wise;
  std::optional<std::uint32_t> quant_bits;
  bool operator==(const ArqSetting&) const = default;
};

/// FMRQuantize as written; absent values are inherited.
struct IfmrSetting {
  std::optional<float> search_range_start;
  std::optional<float> search_range_end;
  std::optional<float> search_step;
  std::optional<float> max_percentile;
  std::optional<float> min_percentile;
  std::optional<bool> asymmetric;
  std::optional<int> num_bits;
  bool operator==(const IfmrSetting&) const = default;
};

/// HFMGQuantize as written; absent values are inherited.
struct HfmgSetting {
  std::optional<std::uint32_t> num_of_bins;
  std::optional<bool> asymmetric;
  std::optional<int> num_bits;
  bool operator==(const HfmgSetting&) const = default;
};

using WeightSetting = std::variant<std::monostate, ArqSetting, NuqOptions>;
using ActivationSetting = std::variant<std::monostate, IfmrSetting, HfmgSetting>;

/// CalibrationConfig as written.
struct CalibrationSetting {
  WeightSetting weights;
  ActivationSetting activation;
  std::optional<float> migration_strength;  // set if dmq_balancer stands in the file
  bool operator==(const CalibrationSetting&) const = default;
};

/// OverrideLayerType or OverrideLayer: `name` is an operator type or a layer.
struct OverrideSetting {
  std::string name;
  CalibrationSetting calibration;
  bool operator==(const OverrideSetting&) const = default;
};

/// TensorQuantize as written.
struct TensorSetting {
  std::string layer_name;
  std::uint32_t input_index = 0;
  ActivationSetting activation;
  bool operator==(const TensorSetting&) const = default;
};

/// NuqConfig as written.
struct NuqSetting {
  std::string mapping_file;
  std::optional<NuqOptions> options;
  bool operator==(const NuqSetting&) const = default;
};

/// A simple config file (spec onnx_and_cli 17); default-constructed: the empty file.
struct SimpleConfig {
  std::optional<std::uint32_t> batch_num;
  std::optional<bool> activation_offset;
  std::optional<bool> joint_quant;
  std::optional<bool> do_fusion;
  std::optional<FakequantPrecisionMode> fakequant_precision_mode;
  std::vector<std::string> skip_layers;
  std::vector<std::string> skip_layer_types;
  std::vector<std::string> skip_fusion_layers;
  std::optional<NuqSetting> nuq;
  CalibrationSetting common;
  std::vector<OverrideSetting> override_types;
  std::vector<OverrideSetting> override_layers;
  std::vector<TensorSetting> tensor_quantize;
  bool operator==(const SimpleConfig&) const = default;
};

/// Reads a simple config in text protobuf; of exclusive fields the last wins, with a logged
/// warning. Throws Error(kInvalidConfig) that lists every violation, syntax with line and column.
SimpleConfig parse_simple_config(std::string_view text, const std::string& file_name);

/// Applies layer, then type, then common settings to each layer, field by field; skipped layers get
/// quant_enable false. Throws Error(kInvalidConfig) that lists all unknown names and forbidden
/// options.
QuantConfig resolve(const SimpleConfig& simple, const ModelInfo& model);

/// Checks a user-edited config against the model and settles each `channel_wise_inherited`. Throws
/// Error(kInvalidConfig) that lists all unknown names and forbidden options.
void validate(QuantConfig& config, const ModelInfo& model);

}  // namespace amct::config
