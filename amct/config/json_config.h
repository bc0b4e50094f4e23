#pragma once

#include <string>
#include <string_view>

#include "amct/config/quant_config.h"

namespace amct::config {

/// Reads a JSON quantization config (spec onnx_and_cli 16). Throws Error(kInvalidConfig) that lists
/// every violation with its field path, or line and column for broken syntax.
QuantConfig parse_json_config(std::string_view text, const std::string& file_name);

/// Returns the config as JSON with exactly the documented keys, indented by 4.
std::string write_json_config(const QuantConfig& config);

}  // namespace amct::config
