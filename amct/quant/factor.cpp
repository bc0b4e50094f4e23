#include "amct/quant/factor.h"

#include <algorithm>
#include <cmath>

#include "amct/base/assert.h"

namespace amct::quant {
namespace {

std::int32_t half_range(int num_bits) {
  AMCT_ASSERT(num_bits >= 2 && num_bits <= 16);
  return std::int32_t{1} << (num_bits - 1);
}

}  // namespace

bool is_legal(const QuantFactor& factor, int num_bits) {
  const std::int32_t half = half_range(num_bits);
  return factor.scale >= kMinScale && factor.scale <= kMaxScale && factor.offset >= -half &&
         factor.offset < half;
}

QuantFactor factor_of_range(float clip_min, float clip_max, int num_bits, bool asymmetric) {
  const std::int32_t half = half_range(num_bits);
  const double low = std::min(0.0, static_cast<double>(clip_min));
  const double high = std::max(0.0, static_cast<double>(clip_max));
  if (!asymmetric) {
    const double divisor = -low > high ? half : half - 1;
    const auto scale = static_cast<float>(std::max(-low, high) / divisor);
    return {scale < kMinScale ? 1.0F : scale, 0};
  }
  const auto scale = static_cast<float>((high - low) / (2 * half - 1));
  if (scale < kMinScale) return {1.0F, -half};
  // Divided in float, as the value that a device sees; the result lies in [-2^b, 0].
  const float zero = std::nearbyint(static_cast<float>(low) / scale);
  return {scale, std::clamp(-static_cast<std::int32_t>(zero) - half, -half, half - 1)};
}

float clip_min_of(const QuantFactor& factor, int num_bits) {
  return -static_cast<float>(half_range(num_bits) + factor.offset) * factor.scale;
}

float clip_max_of(const QuantFactor& factor, int num_bits) {
  return static_cast<float>(half_range(num_bits) - 1 - factor.offset) * factor.scale;
}

kernels::IntegerGrid integer_grid(const QuantFactor& factor, int num_bits) {
  const std::int32_t half = half_range(num_bits);
  return {factor.scale, factor.offset, -half, half - 1};
}

}  // namespace amct::quant
