#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "amct/kernels/histogram.h"

namespace amct::quant {

/// Histogram of finite values whose bins are [i, i + 1) * 2^exponent, zero apart. The width is the
/// smallest for which the whole range fits in kCapacity bins; when the range grows past that,
/// neighbours merge in pairs. So the state depends only on the values seen, not on their order or
/// on how they were split, and merge() loses nothing. Private to amct/quant.
class GridHistogram {
 public:
  /// 8 to 16 bins per step of INT8; with twice as many, observing took a tenth to a quarter longer
  /// and the chosen factors were hardly better.
  static constexpr std::int64_t kCapacity = 4096;

  /// min and max have to be the finite range of x.
  void add(std::span<const float> x, float min, float max);
  void merge(const GridHistogram& other);

  float min() const { return min_; }
  float max() const { return max_; }
  std::uint64_t count() const { return count_; }
  double bin_width() const;

  /// The counters in one piece: bin i covers [first + i, first + i + 1) * bin_width().
  struct View {
    std::int64_t first = 0;
    std::uint64_t zeros = 0;
    std::vector<std::uint64_t> counts;
  };
  View view() const;

  /// Builds the state of a view; false when it contradicts itself.
  bool restore(int exponent, float min, float max, const View& view);
  int exponent() const { return exponent_; }
  std::size_t memory() const;

 private:
  void widen(float min, float max);
  void drain() const;

  float min_ = 0.0F;
  float max_ = 0.0F;
  std::uint64_t count_ = 0;
  int exponent_ = 0;
  std::int64_t first_ = 0;
  // Reading folds the pending counters into the totals.
  mutable std::uint64_t zeros_ = 0;
  mutable std::vector<std::uint64_t> totals_;
  mutable kernels::CounterTable table_;
};

}  // namespace amct::quant
