#pragma once

#include <bit>
#include <cstdint>

namespace amct::tensorflow {

/// float16 bits to float, exactly.
inline float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1f;
  const std::uint32_t fraction = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

/// float to float16 bits, rounded to nearest even.
inline std::uint16_t half_from_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00);
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000U) {
    // Subnormal: adding 0.5 puts the last bit of float16 at the last bit of float.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(
        sign | ((std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U) & 0xffffU));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xfffU + odd) >> 13));
}

}  // namespace amct::tensorflow
