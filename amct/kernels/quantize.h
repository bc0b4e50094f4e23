#pragma once

#include <cstdint>
#include <span>

namespace amct::kernels {

/// Integer grid of a quantizer: q = clip(round_half_even(x / scale) + offset, q_min, q_max).
struct IntegerGrid {
  float scale = 1.0F;  // finite, > 0
  std::int32_t offset = 0;
  std::int32_t q_min = -128;
  std::int32_t q_max = 127;
};

/// out[i] = q(x[i]); NaN becomes the offset, infinities saturate. The grid has to lie within int8.
/// out and x have one size.
void quantize_f32_i8(std::span<const float> x, const IntegerGrid& grid, std::span<std::int8_t> out);

/// out[i] = (q(x[i]) - offset) * scale: what a device computes with. out may be x itself.
void fake_quantize_f32(std::span<const float> x, const IntegerGrid& grid, std::span<float> out);

}  // namespace amct::kernels
