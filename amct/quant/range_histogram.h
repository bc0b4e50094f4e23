#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "amct/kernels/histogram.h"

namespace amct::quant {

/// Histogram of a fixed number of bins over exactly the range seen so far (upstream_facts 3.2).
/// When the range grows, each old bin's count is split in proportion between the new bins that it
/// overlaps. So what was seen before a growth is known to about one bin width only, and the order
/// of batches can move counts by one bin; the total is always exact. Private to amct/quant.
class RangeHistogram {
 public:
  explicit RangeHistogram(std::size_t bins) : table_(bins), counts_(bins, 0) {}

  /// min and max have to be the finite range of x, which is not empty.
  void add(std::span<const float> x, float min, float max);
  /// For a batch that is looked at piece by piece: widens the range first.
  void widen(float min, float max);
  /// x within the range that widen() made.
  void count(std::span<const float> x);
  void merge(const RangeHistogram& other);

  float min() const { return min_; }
  float max() const { return max_; }
  std::uint64_t total() const { return total_; }
  std::size_t bins() const { return counts_.size(); }
  std::span<const std::uint64_t> counts() const;
  std::size_t memory() const;

  /// Builds a state; false when it contradicts itself.
  bool restore(float min, float max, std::vector<std::uint64_t> counts);

 private:
  void drain() const;

  float min_ = 0.0F;
  float max_ = 0.0F;
  std::uint64_t total_ = 0;
  // Reading folds the pending counters into the totals.
  mutable kernels::CounterTable table_;
  mutable std::vector<std::uint64_t> counts_;
};

}  // namespace amct::quant
