#pragma once

#include <cstdint>
#include <limits>

#include "amct/base/quant_options.h"
#include "amct/kernels/quantize.h"

namespace amct::quant {

/// Scales below this become 1; above kMaxScale a tensor cannot be quantized, because the device
/// multiplies by 1 / scale (spec: common scale rule).
inline constexpr float kMinScale = std::numeric_limits<float>::epsilon();
inline constexpr float kMaxScale = 1.0F / kMinScale;

/// Whether the device accepts the pair: finite, kMinScale <= scale <= kMaxScale, offset in the
/// grid.
bool is_legal(const QuantFactor& factor, int num_bits);

/// Factor of a clip range. The range is first widened to hold zero. Symmetric: the larger end over
/// 2^(b-1) - 1, or over 2^(b-1) when the negative end is the larger one; offset 0. Asymmetric:
/// (max - min) / (2^b - 1) and offset -round_half_even(min / scale) - 2^(b-1).
/// A scale below kMinScale becomes 1 with offset 0 or -2^(b-1). num_bits 2 to 16.
/// The scale may exceed kMaxScale or be infinite: ask is_legal().
QuantFactor factor_of_range(float clip_min, float clip_max, int num_bits, bool asymmetric);

/// Ends of what the factor can express: -(2^(b-1) + offset) * scale and (2^(b-1) - 1 - offset) *
/// scale.
float clip_min_of(const QuantFactor& factor, int num_bits);
float clip_max_of(const QuantFactor& factor, int num_bits);

/// The factor as the kernels want it: [-2^(b-1), 2^(b-1) - 1].
kernels::IntegerGrid integer_grid(const QuantFactor& factor, int num_bits);

}  // namespace amct::quant
