#include "amct/kernels/histogram.h"

#include <algorithm>

#include "amct/base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "amct/kernels/histogram.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef AMCT_KERNELS_HISTOGRAM_CONSTANTS
#define AMCT_KERNELS_HISTOGRAM_CONSTANTS
namespace amct::kernels {
constexpr std::size_t kTables = 4;      // copies of the table
constexpr std::size_t kZeroSlots = 16;  // after the bins of each copy; one per SIMD lane
constexpr std::size_t kChunk = 512;     // values whose bins are computed before they are counted
}  // namespace amct::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace amct::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One increment per index, in turn on each copy of the table.
HWY_INLINE void scatter(const std::int32_t* HWY_RESTRICT index, std::size_t n,
                        std::uint32_t* HWY_RESTRICT slots, std::size_t stride) {
  std::uint32_t* t0 = slots;
  std::uint32_t* t1 = slots + stride;
  std::uint32_t* t2 = slots + 2 * stride;
  std::uint32_t* t3 = slots + 3 * stride;
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    ++t0[index[i]];
    ++t1[index[i + 1]];
    ++t2[index[i + 2]];
    ++t3[index[i + 3]];
  }
  for (; i < n; ++i) ++t0[index[i]];
}

// Bins of n values; reads and writes whole vectors, so both sides need kZeroSlots spare entries.
template <typename Body>
HWY_INLINE void for_each_chunk(const float* HWY_RESTRICT x, std::size_t n,
                               std::uint32_t* HWY_RESTRICT slots, std::size_t stride, Body body) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN std::int32_t index[kChunk];
  HWY_ALIGN float tail[kZeroSlots * 4] = {};
  std::size_t done = 0;
  while (done + lanes <= n) {
    const std::size_t count = HWY_MIN(kChunk, (n - done) / lanes * lanes);
    for (std::size_t i = 0; i < count; i += lanes) {
      hn::Store(body(hn::LoadU(d, x + done + i)), di, index + i);
    }
    scatter(index, count, slots, stride);
    done += count;
  }
  if (done < n) {
    for (std::size_t i = done; i < n; ++i) tail[i - done] = x[i];
    hn::Store(body(hn::Load(d, tail)), di, index);
    scatter(index, n - done, slots, stride);
  }
}

void grid(const float* HWY_RESTRICT x, std::size_t n, float inverse_width, std::int32_t first_bin,
          std::uint32_t* HWY_RESTRICT slots, std::size_t bins) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto scale = hn::Set(d, inverse_width);
  const auto first = hn::Set(di, first_bin);
  const auto zero_slot = hn::Iota(di, static_cast<std::int32_t>(bins));
  for_each_chunk(x, n, slots, bins + kZeroSlots, [&](auto v) HWY_ATTR {
    // trunc(x) is -t below zero, and the sign bit spread over the lane is -1: together -1 - t.
    const auto sign = hn::ShiftRight<31>(hn::BitCast(di, v));
    const auto bin = hn::Add(hn::ConvertTo(di, hn::Mul(v, scale)), hn::Sub(sign, first));
    const auto is_zero = hn::RebindMask(di, hn::Eq(v, hn::Zero(d)));
    return hn::IfThenElse(is_zero, zero_slot, bin);
  });
}

void linear(const float* HWY_RESTRICT x, std::size_t n, float min, float inverse_width,
            std::uint32_t* HWY_RESTRICT slots, std::size_t bins) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto scale = hn::Set(d, inverse_width);
  const auto origin = hn::Set(d, min);
  const auto last = hn::Set(di, static_cast<std::int32_t>(bins) - 1);
  for_each_chunk(x, n, slots, bins + kZeroSlots, [&](auto v) HWY_ATTR {
    return hn::Min(hn::ConvertTo(di, hn::Mul(hn::Sub(v, origin), scale)), last);
  });
}

}  // namespace amct::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace amct::kernels {

HWY_EXPORT(grid);
HWY_EXPORT(linear);

CounterTable::CounterTable(std::size_t bins)
    : bins_(bins), slots_(bins == 0 ? 0 : kTables * (bins + kZeroSlots)) {}

void CounterTable::drain(std::span<std::uint64_t> counts, std::uint64_t& zeros) {
  AMCT_ASSERT(counts.size() == bins_);
  if (pending_ == 0) return;
  const std::size_t stride = bins_ + kZeroSlots;
  const std::uint32_t* slots = slots_.data();
  for (std::size_t i = 0; i < bins_; ++i) {
    counts[i] +=
        std::uint64_t{slots[i]} + slots[stride + i] + slots[2 * stride + i] + slots[3 * stride + i];
  }
  for (std::size_t table = 0; table < kTables; ++table) {
    for (std::size_t i = bins_; i < stride; ++i) zeros += slots[table * stride + i];
  }
  std::fill(slots_.begin(), slots_.end(), 0U);
  pending_ = 0;
}

void count_on_grid(std::span<const float> x, float inverse_width, std::int32_t first_bin,
                   CounterTable& table) {
  AMCT_ASSERT(x.size() <= table.room());
  HWY_DYNAMIC_DISPATCH(grid)
  (x.data(), x.size(), inverse_width, first_bin, table.slots_.data(), table.bins_);
  table.pending_ += x.size();
}

void count_linear(std::span<const float> x, float min, float inverse_width, CounterTable& table) {
  AMCT_ASSERT(x.size() <= table.room());
  HWY_DYNAMIC_DISPATCH(linear)
  (x.data(), x.size(), min, inverse_width, table.slots_.data(), table.bins_);
  table.pending_ += x.size();
}

}  // namespace amct::kernels
#endif
