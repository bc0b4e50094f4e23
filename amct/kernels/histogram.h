#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace amct::kernels {

/// Counters of a histogram that is being filled: several copies of the table, so that equal
/// neighbours do not wait for each other's store, and a few extra slots for exact zeros.
class CounterTable {
 public:
  explicit CounterTable(std::size_t bins = 0);

  std::size_t bins() const { return bins_; }
  /// Adds what was counted to counts (bins() entries) and zeros, and starts again from nothing.
  void drain(std::span<std::uint64_t> counts, std::uint64_t& zeros);
  /// Values that may still be counted before drain() is due.
  std::uint64_t room() const { return kMaxPending - pending_; }
  std::size_t memory() const { return slots_.size() * sizeof(std::uint32_t); }

 private:
  friend void count_on_grid(std::span<const float>, float, std::int32_t, CounterTable&);
  friend void count_linear(std::span<const float>, float, float, CounterTable&);
  static constexpr std::uint64_t kMaxPending = 0xFFFFFFFFU;

  std::size_t bins_ = 0;
  std::uint64_t pending_ = 0;
  std::vector<std::uint32_t> slots_;
};

/// Counts x in bins of one width that meet at zero: with t = trunc(|x| * inverse_width), x > 0 goes
/// to bin t - first_bin and x < 0 to bin -1 - t - first_bin; zeros are counted apart.
/// x must be finite and within the table; inverse_width a power of two; x.size() <= table.room().
void count_on_grid(std::span<const float> x, float inverse_width, std::int32_t first_bin,
                   CounterTable& table);

/// Counts x in bin min(trunc((x - min) * inverse_width), bins - 1).
/// x must be finite and not below min; x.size() <= table.room().
void count_linear(std::span<const float> x, float min, float inverse_width, CounterTable& table);

}  // namespace amct::kernels
