#include "amct/kernels/quantize.h"

#include "amct/base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "amct/kernels/quantize.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace amct::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Integers of one vector as float, before the offset: round(x / scale) within [q_min, q_max] -
// offset.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V levels(D d, V x, float scale, float low, float high) {
  const V ratio = hn::Div(x, hn::Set(d, scale));
  const V level = hn::Clamp(hn::Round(ratio), hn::Set(d, low), hn::Set(d, high));
  return hn::IfThenElseZero(hn::Eq(ratio, ratio), level);
}

void to_i8(const float* HWY_RESTRICT x, std::size_t n, const IntegerGrid& grid,
           std::int8_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = static_cast<float>(grid.q_min - grid.offset);
  const auto high = static_cast<float>(grid.q_max - grid.offset);
  const auto offset = hn::Set(di, grid.offset);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto level = levels(d, hn::LoadU(d, x + i), grid.scale, low, high);
    hn::StoreU(hn::DemoteTo(d8, hn::Add(hn::ConvertTo(di, level), offset)), d8, out + i);
  }
  const hn::CappedTag<float, 1> d1;
  for (; i < n; ++i) {
    const float level = hn::GetLane(levels(d1, hn::Set(d1, x[i]), grid.scale, low, high));
    out[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(level) + grid.offset);
  }
}

void to_grid(const float* x, std::size_t n, const IntegerGrid& grid, float* out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = static_cast<float>(grid.q_min - grid.offset);
  const auto high = static_cast<float>(grid.q_max - grid.offset);
  const auto scale = hn::Set(d, grid.scale);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(levels(d, hn::LoadU(d, x + i), grid.scale, low, high), scale), d, out + i);
  }
  const hn::CappedTag<float, 1> d1;
  for (; i < n; ++i) {
    out[i] = hn::GetLane(levels(d1, hn::Set(d1, x[i]), grid.scale, low, high)) * grid.scale;
  }
}

}  // namespace amct::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace amct::kernels {

HWY_EXPORT(to_i8);
HWY_EXPORT(to_grid);

void quantize_f32_i8(std::span<const float> x, const IntegerGrid& grid,
                     std::span<std::int8_t> out) {
  AMCT_ASSERT(x.size() == out.size() && grid.q_min >= -128 && grid.q_max <= 127);
  HWY_DYNAMIC_DISPATCH(to_i8)(x.data(), x.size(), grid, out.data());
}

void fake_quantize_f32(std::span<const float> x, const IntegerGrid& grid, std::span<float> out) {
  AMCT_ASSERT(x.size() == out.size());
  HWY_DYNAMIC_DISPATCH(to_grid)(x.data(), x.size(), grid, out.data());
}

}  // namespace amct::kernels
#endif
