#pragma once

#include <cstdint>
#include <span>

#include "amct/base/quant_options.h"
#include "amct/quant/grid_histogram.h"

// The IFMR search (upstream_facts 3.1) on values or on a histogram. Private to amct/quant.
namespace amct::quant {

struct IfmrChoice {
  QuantFactor factor;
  double loss = 0.0;  // mean squared error
};

/// Ratios that are tried: start + i * step up to and including the end of the range.
/// The documented default range 0.7 to 1.3 in steps of 0.01 gives 61.
std::uint64_t ifmr_candidates(const IfmrOptions& options);

/// Throws Error (kInvalidConfig) that names the field.
void check_ifmr_options(const IfmrOptions& options);

/// values: all finite, not empty.
IfmrChoice ifmr_search(std::span<const float> values, const IfmrOptions& options, int num_bits,
                       bool asymmetric);

/// histogram: not empty.
IfmrChoice ifmr_search(const GridHistogram& histogram, const IfmrOptions& options, int num_bits,
                       bool asymmetric);

}  // namespace amct::quant
