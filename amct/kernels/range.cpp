#include "amct/kernels/range.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "amct/kernels/range.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef AMCT_KERNELS_RANGE_TYPES
#define AMCT_KERNELS_RANGE_TYPES
namespace amct::kernels {
struct RawRange {
  float min;
  float max;
  std::int32_t magnitude;  // largest bit pattern of |x|: at least that of infinity when not finite
};
}  // namespace amct::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace amct::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

RawRange raw_range(const float* HWY_RESTRICT x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto positive = hn::Set(di, std::numeric_limits<std::int32_t>::max());
  auto low0 = hn::Set(d, std::numeric_limits<float>::infinity());
  auto low1 = low0;
  auto high0 = hn::Neg(low0);
  auto high1 = high0;
  auto magnitude0 = hn::Zero(di);
  auto magnitude1 = magnitude0;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + lanes);
    low0 = hn::Min(low0, a);
    low1 = hn::Min(low1, b);
    high0 = hn::Max(high0, a);
    high1 = hn::Max(high1, b);
    magnitude0 = hn::Max(magnitude0, hn::And(hn::BitCast(di, a), positive));
    magnitude1 = hn::Max(magnitude1, hn::And(hn::BitCast(di, b), positive));
  }
  RawRange r{hn::GetLane(hn::MinOfLanes(d, hn::Min(low0, low1))),
             hn::GetLane(hn::MaxOfLanes(d, hn::Max(high0, high1))),
             hn::GetLane(hn::MaxOfLanes(di, hn::Max(magnitude0, magnitude1)))};
  for (; i < n; ++i) {
    r.min = x[i] < r.min ? x[i] : r.min;
    r.max = x[i] > r.max ? x[i] : r.max;
    const std::int32_t bits = std::bit_cast<std::int32_t>(x[i]) & 0x7FFFFFFF;
    r.magnitude = bits > r.magnitude ? bits : r.magnitude;
  }
  return r;
}

float magnitude(const float* HWY_RESTRICT x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  const auto positive = hn::Set(di, std::numeric_limits<std::int32_t>::max());
  auto largest = hn::Zero(di);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    largest = hn::Max(largest, hn::And(hn::BitCast(di, hn::LoadU(d, x + i)), positive));
  }
  std::int32_t bits = hn::GetLane(hn::MaxOfLanes(di, largest));
  for (; i < n; ++i) {
    const std::int32_t one = std::bit_cast<std::int32_t>(x[i]) & 0x7FFFFFFF;
    bits = one > bits ? one : bits;
  }
  return std::bit_cast<float>(bits);
}

}  // namespace amct::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace amct::kernels {

HWY_EXPORT(raw_range);
HWY_EXPORT(magnitude);

FiniteRange finite_range(std::span<const float> x) {
  if (x.empty()) return {};
  const auto raw = HWY_DYNAMIC_DISPATCH(raw_range)(x.data(), x.size());
  constexpr auto kInfinityBits =
      std::bit_cast<std::int32_t>(std::numeric_limits<float>::infinity());
  if (raw.magnitude < kInfinityBits) return {raw.min, raw.max, x.size()};
  FiniteRange r;
  for (const float value : x) {
    if (!std::isfinite(value)) continue;
    if (r.finite == 0) r.min = r.max = value;
    r.min = value < r.min ? value : r.min;
    r.max = value > r.max ? value : r.max;
    ++r.finite;
  }
  return r;
}

float abs_max(std::span<const float> x) {
  return HWY_DYNAMIC_DISPATCH(magnitude)(x.data(), x.size());
}

std::size_t copy_finite(std::span<const float> x, float* out) {
  std::size_t kept = 0;
  for (const float value : x) {
    out[kept] = value;
    kept += std::isfinite(value) ? 1U : 0U;
  }
  return kept;
}

}  // namespace amct::kernels
#endif
