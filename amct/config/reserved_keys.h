#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace amct::config {

/// Top-level keys of the JSON config that are not layers; a layer of such a name has no entry.
inline constexpr std::array<std::string_view, 8> kReservedKeys{
    "version",   "batch_num",          "activation_offset", "joint_quant",
    "do_fusion", "skip_fusion_layers", "tensor_quantize",   "fakequant_precision_mode"};

/// Returns whether the name is one of them.
inline bool is_reserved_key(std::string_view name) {
  return std::find(kReservedKeys.begin(), kReservedKeys.end(), name) != kReservedKeys.end();
}

}  // namespace amct::config
