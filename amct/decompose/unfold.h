#pragma once

#include <memory>
#include <span>
#include <vector>

#include "amct/decompose/conv_shape.h"
#include "amct/decompose/network.h"
#include "amct/decompose/workers.h"

namespace amct::decompose {

/// A row-major matrix whose memory is not cleared first.
template <typename T>
struct Matrix {
  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c)
      : rows(r),
        columns(c),
        values(std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(r * c))) {}

  T* row(std::int64_t i) { return values.get() + i * columns; }
  const T* row(std::int64_t i) const { return values.get() + i * columns; }
  T* data() { return values.get(); }
  const T* data() const { return values.get(); }

  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::unique_ptr<T[]> values;
};

/// Whether the rows of an unfolded kernel run over input channels (SC modes); else the columns do.
bool rows_are_inputs(Mode mode);

/// A kernel as a matrix, the smaller channel and kernel axis as rows (upstream_facts 4.2), brought
/// to a largest absolute value in [1, 2) by a power of two.
template <typename T>
struct UnfoldedKernel {
  Matrix<T> matrix;
  int exponent = 0;         // kernel = matrix * 2^exponent
  double norm_squared = 0;  // of the matrix
};

/// `kernel` is [Cout, Cin, KH, KW], `largest` its largest magnitude, finite and above 0; mode is
/// not kUnchange.
template <typename T>
UnfoldedKernel<T> unfold(std::span<const T> kernel, T largest, const ConvShape& shape, Mode mode,
                         Workers workers);

/// Largest |x|; NaN or infinity when there is one in x.
template <typename T>
T largest_magnitude(std::span<const T> x, Workers workers);

/// The two kernels of U_r [r, rows] and core_r [r, columns], both times what `exponent` says, so
/// spread over both that nothing is above `largest_value`.
template <typename T>
Factors fold(Matrix<T> basis, Matrix<T> core, int exponent, const ConvShape& shape, Mode mode,
             double largest_value, Workers workers);

}  // namespace amct::decompose
