#pragma once

#include <cstdint>
#include <span>

// The HFMG search (upstream_facts 3.2). Private to amct/quant.
namespace amct::quant {

/// Bins [left, right] that are kept, and the summed squared error of quantizing all counts then.
struct HfmgWindow {
  std::size_t left = 0;
  std::size_t right = 0;
  double loss = 0.0;
};

/// counts: bins over a range of range_width in all. A range so narrow that the step of the smallest
/// window would fall below FLT_EPSILON is kept whole: the scale rule makes a search pointless
/// there.
HfmgWindow hfmg_search(std::span<const std::uint64_t> counts, double range_width, int num_bits);

}  // namespace amct::quant
