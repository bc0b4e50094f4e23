#pragma once

#include <cstdint>
#include <variant>

namespace amct {

/// IFMR search parameters (spec onnx_and_cli 16.3, upstream_facts 3.1).
struct IfmrOptions {
  float max_percentile = 0.999999F;  // (0.5, 1]
  float min_percentile = 0.999999F;  // (0.5, 1]
  float search_range_start = 0.7F;   // > 0
  float search_range_end = 1.3F;     // > search_range_start
  float search_step = 0.01F;         // (0, search_range_end - search_range_start]
  bool operator==(const IfmrOptions&) const = default;
};

/// HFMG parameters (spec onnx_and_cli 16.3, upstream_facts 3.2).
struct HfmgOptions {
  std::uint32_t num_of_bins = 4096;  // 1024, 2048, 4096 or 8192
  bool operator==(const HfmgOptions&) const = default;
};

/// How one activation tensor gets its scale and offset.
struct ActivationOptions {
  int num_bits = 8;  // 8 or 16
  bool asymmetric = true;
  std::variant<IfmrOptions, HfmgOptions> algorithm;
  bool operator==(const ActivationOptions&) const = default;
};

/// How one weight tensor is quantized: ARQ, symmetric.
struct WeightOptions {
  int num_bits = 8;  // 6, 7 or 8; 6 and 7 for Conv with a 4-D weight only
  bool channel_wise = true;
  bool operator==(const WeightOptions&) const = default;
};

/// Scale and signed zero point: q = clip(round_half_even(x / scale) + offset), x' = (q - offset) *
/// scale.
struct QuantFactor {
  float scale = 1.0F;
  std::int32_t offset = 0;
  bool operator==(const QuantFactor&) const = default;
};

}  // namespace amct
