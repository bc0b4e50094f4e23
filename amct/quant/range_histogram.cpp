#include "amct/quant/range_histogram.h"

#include <algorithm>
#include <cmath>

#include "amct/base/assert.h"

namespace amct::quant {
namespace {

// Bin of x among bins of [min, min + bins * width).
std::size_t bin_of(double x, double min, double width, std::size_t bins) {
  const double bin = width > 0.0 ? std::floor((x - min) / width) : 0.0;
  return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(bins - 1)));
}

// Moves counts over [from_min, from_max] to bins over [to_min, to_max], which contains it.
std::vector<std::uint64_t> rebin(std::span<const std::uint64_t> counts, float from_min,
                                 float from_max, float to_min, float to_max) {
  const std::size_t bins = counts.size();
  if (from_min == to_min && from_max == to_max) return {counts.begin(), counts.end()};
  std::vector<std::uint64_t> moved(bins, 0);
  const double from = (double{from_max} - double{from_min}) / static_cast<double>(bins);
  const double to = (double{to_max} - double{to_min}) / static_cast<double>(bins);
  for (std::size_t i = 0; i < bins; ++i) {
    if (counts[i] == 0) continue;
    const double low = double{from_min} + from * static_cast<double>(i);
    const double high = low + from;
    const std::size_t first = bin_of(low, double{to_min}, to, bins);
    const std::size_t last = bin_of(high, double{to_min}, to, bins);
    if (first == last) {
      moved[first] += counts[i];
      continue;
    }
    const double edge = double{to_min} + to * static_cast<double>(last);
    const double share = std::clamp((edge - low) / from, 0.0, 1.0);
    const auto before = std::min(
        counts[i], static_cast<std::uint64_t>(std::floor(share * static_cast<double>(counts[i]))));
    moved[first] += before;
    moved[last] += counts[i] - before;
  }
  return moved;
}

}  // namespace

void RangeHistogram::drain() const {
  std::uint64_t zeros = 0;
  table_.drain(counts_, zeros);
}

std::span<const std::uint64_t> RangeHistogram::counts() const {
  drain();
  return counts_;
}

std::size_t RangeHistogram::memory() const {
  return counts_.size() * sizeof(std::uint64_t) + table_.memory();
}

void RangeHistogram::widen(float min, float max) {
  if (total_ == 0) {
    min_ = min;
    max_ = max;
    return;
  }
  const float low = std::min(min_, min);
  const float high = std::max(max_, max);
  if (low == min_ && high == max_) return;
  drain();
  counts_ = rebin(counts_, min_, max_, low, high);
  min_ = low;
  max_ = high;
}

void RangeHistogram::add(std::span<const float> x, float min, float max) {
  widen(min, max);
  count(x);
}

void RangeHistogram::count(std::span<const float> x) {
  total_ += x.size();
  const float bins = static_cast<float>(counts_.size());
  const float range = max_ - min_;
  const float inverse_width = bins / range;
  if (range == 0.0F) {
    counts_[counts_.size() / 2] += x.size();
    return;
  }
  if (!std::isfinite(range) || !std::isfinite(inverse_width)) {
    const double width = (double{max_} - double{min_}) / static_cast<double>(counts_.size());
    for (const float v : x) ++counts_[bin_of(double{v}, double{min_}, width, counts_.size())];
    return;
  }
  while (!x.empty()) {
    if (table_.room() < x.size()) drain();
    const auto piece =
        x.first(static_cast<std::size_t>(std::min<std::uint64_t>(x.size(), table_.room())));
    kernels::count_linear(piece, min_, inverse_width, table_);
    x = x.subspan(piece.size());
  }
}

void RangeHistogram::merge(const RangeHistogram& other) {
  AMCT_ASSERT(other.bins() == bins());
  if (other.total_ == 0) return;
  widen(other.min_, other.max_);
  const auto theirs = rebin(other.counts(), other.min_, other.max_, min_, max_);
  for (std::size_t i = 0; i < theirs.size(); ++i) counts_[i] += theirs[i];
  total_ += other.total_;
}

bool RangeHistogram::restore(float min, float max, std::vector<std::uint64_t> counts) {
  if (!std::isfinite(min) || !std::isfinite(max) || min > max || counts.size() != bins()) {
    return false;
  }
  std::uint64_t total = 0;
  for (const std::uint64_t c : counts) {
    if (total + c < total) return false;
    total += c;
  }
  min_ = min;
  max_ = max;
  total_ = total;
  counts_ = std::move(counts);
  return true;
}

}  // namespace amct::quant
