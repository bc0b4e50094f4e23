#include "amct/quant/grid_histogram.h"

#include <algorithm>
#include <cmath>

#include "amct/base/assert.h"

namespace amct::quant {
namespace {

constexpr int kMinExponent = -120;  // 2^-exponent stays a normal float
constexpr int kAllBits = 62;        // a shift that leaves only the sign of a bin number

// Bins that one side of zero needs.
std::int64_t side_bins(float end, int exponent) {
  return end == 0.0F ? 0
                     : static_cast<std::int64_t>(std::ldexp(std::fabs(double{end}), -exponent)) + 1;
}

// The smallest exponent for which [min, max], widened to zero, fits.
int fitting_exponent(float min, float max) {
  const auto fits = [&](int e) {
    return side_bins(min, e) + side_bins(max, e) <= GridHistogram::kCapacity;
  };
  const double widest = std::max(std::fabs(double{min}), std::fabs(double{max}));
  const int start = widest == 0.0 ? kMinExponent : std::ilogb(widest) - 12;
  int exponent = std::max(kMinExponent, start);
  while (!fits(exponent)) ++exponent;
  return exponent;
}

}  // namespace

double GridHistogram::bin_width() const { return std::ldexp(1.0, exponent_); }

std::size_t GridHistogram::memory() const {
  return totals_.size() * sizeof(std::uint64_t) + table_.memory();
}

void GridHistogram::add(std::span<const float> x, float min, float max) {
  if (x.empty()) return;
  widen(min, max);
  const auto inverse_width = static_cast<float>(std::ldexp(1.0, -exponent_));
  count_ += x.size();
  while (!x.empty()) {
    if (table_.room() < x.size()) drain();
    const auto piece =
        x.first(static_cast<std::size_t>(std::min<std::uint64_t>(x.size(), table_.room())));
    kernels::count_on_grid(piece, inverse_width, static_cast<std::int32_t>(first_), table_);
    x = x.subspan(piece.size());
  }
}

void GridHistogram::merge(const GridHistogram& other) {
  if (other.count_ == 0) return;
  const View theirs = other.view();
  widen(other.min_, other.max_);
  const int shift = std::min(exponent_ - other.exponent_, kAllBits);
  for (std::size_t i = 0; i < theirs.counts.size(); ++i) {
    if (theirs.counts[i] == 0) continue;
    const std::int64_t bin = (theirs.first + static_cast<std::int64_t>(i)) >> shift;
    totals_[static_cast<std::size_t>(bin - first_)] += theirs.counts[i];
  }
  zeros_ += theirs.zeros;
  count_ += other.count_;
}

void GridHistogram::widen(float min, float max) {
  const bool fresh = count_ == 0;
  const float low = fresh ? min : std::min(min_, min);
  const float high = fresh ? max : std::max(max_, max);
  if (!fresh && low == min_ && high == max_) return;
  const float below = std::min(low, 0.0F);
  const float above = std::max(high, 0.0F);
  const int exponent = fitting_exponent(below, above);
  const std::int64_t negative = side_bins(below, exponent);
  const std::int64_t positive = side_bins(above, exponent);
  AMCT_ASSERT(fresh || exponent >= exponent_);
  min_ = low;
  max_ = high;
  const bool fits =
      !fresh && exponent == exponent_ && -negative >= first_ && positive <= first_ + kCapacity;
  if (fits) return;

  // Spare bins go to the sides that are in use.
  const std::int64_t spare = kCapacity - negative - positive;
  const std::int64_t first = negative == 0 ? 0 : positive == 0 ? -kCapacity : -negative - spare / 2;
  if (fresh) {
    totals_.assign(kCapacity, 0);
    table_ = kernels::CounterTable(kCapacity);
  } else {
    drain();
    std::vector<std::uint64_t> moved(kCapacity, 0);
    const int shift = std::min(exponent - exponent_, kAllBits);
    for (std::size_t i = 0; i < totals_.size(); ++i) {
      if (totals_[i] == 0) continue;
      const std::int64_t bin = (first_ + static_cast<std::int64_t>(i)) >> shift;
      moved[static_cast<std::size_t>(bin - first)] += totals_[i];
    }
    totals_ = std::move(moved);
  }
  exponent_ = exponent;
  first_ = first;
}

void GridHistogram::drain() const { table_.drain(totals_, zeros_); }

GridHistogram::View GridHistogram::view() const {
  drain();
  return {first_, zeros_, totals_};
}

bool GridHistogram::restore(int exponent, float min, float max, const View& view) {
  if (!std::isfinite(min) || !std::isfinite(max) || min > max) return false;
  if (view.counts.size() != kCapacity) return false;
  GridHistogram fresh;
  fresh.widen(min, max);
  if (fresh.exponent_ != exponent) return false;
  const std::int64_t negative = side_bins(std::min(min, 0.0F), exponent);
  const std::int64_t positive = side_bins(std::max(max, 0.0F), exponent);
  if (-negative < view.first || positive > view.first + kCapacity || view.first > 0 ||
      view.first < -kCapacity) {
    return false;
  }
  std::uint64_t count = view.zeros;
  for (std::size_t i = 0; i < view.counts.size(); ++i) {
    const std::int64_t bin = view.first + static_cast<std::int64_t>(i);
    if (view.counts[i] != 0 && (bin < -negative || bin >= positive)) return false;
    if (count + view.counts[i] < count) return false;
    count += view.counts[i];
  }
  fresh.first_ = view.first;
  fresh.totals_ = view.counts;
  fresh.zeros_ = view.zeros;
  fresh.count_ = count;
  *this = std::move(fresh);
  return count != 0;
}

}  // namespace amct::quant
