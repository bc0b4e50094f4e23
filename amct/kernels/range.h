#pragma once

#include <cstddef>
#include <span>

namespace amct::kernels {

/// Smallest and largest finite value of a span, and how many values are finite.
struct FiniteRange {
  float min = 0.0F;  // 0 when nothing is finite
  float max = 0.0F;
  std::size_t finite = 0;
  bool operator==(const FiniteRange&) const = default;
};

/// NaN and infinities are left out and not counted.
FiniteRange finite_range(std::span<const float> x);

/// Largest |x|; 0 for an empty span; infinite or NaN when x holds such a value.
float abs_max(std::span<const float> x);

/// Copies the finite values of x in order to out (room for x.size()); returns how many.
std::size_t copy_finite(std::span<const float> x, float* out);

}  // namespace amct::kernels
