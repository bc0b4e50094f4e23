#pragma once

#include <cstdint>
#include <span>

namespace amct::kernels {

/// Sum over x of (round(clip(x, clip_min, clip_max) / scale) * scale - x)^2. x finite, scale > 0.
double clipped_square_error(std::span<const float> x, float clip_min, float clip_max, float scale);

/// A histogram seen as a density that is even within each bin, and a row of equally spaced levels.
struct HistogramLevels {
  double first_edge = 0.0;  // lower edge of bin 0
  double bin_width = 1.0;   // > 0
  double step = 1.0;        // distance of levels, > 0
  double shift = 0.0;       // level j stands at (j + shift) * step
  double first_level = 0.0;
  double last_level = 0.0;  // integers; beyond the ends the end levels serve
};

/// Sum over bins of count * mean over the bin of (distance to the nearest level)^2.
double histogram_square_error(std::span<const double> counts, const HistogramLevels& levels);

}  // namespace amct::kernels
