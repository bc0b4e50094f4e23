#pragma once

#include <cstdint>
#include <span>

#include "amct/decompose/unfold.h"

namespace amct::decompose {

/// Factors that make the error of the layer's output small instead of that of its kernel.
template <typename T>
struct DataFit {
  Matrix<T> basis;          // [rank, rows]
  Matrix<T> core;           // [rank, columns]; kernel is about basis^T * core
  double kernel_error = 0;  // Frobenius, relative
  double output_error = 0;  // relative root mean square on the data, as the moments tell it
};

/// The best rank-r approximation A' of an unfolded kernel A in the norm |(A - A') weighted by the
/// inputs' second moments|: the mean squared error of the output when the places that the last
/// convolution joins are uncorrelated. `moments`: lower triangle, row-major, of the rows (SC modes)
/// or columns (FC modes) of A, which are the inputs. A thousandth of their mean is added to the
/// diagonal, so that directions that the data do not show are not given up.
template <typename T>
DataFit<T> fit_to_data(const Matrix<T>& kernel, std::int64_t rank, std::span<const double> moments,
                       bool inputs_are_rows, Workers workers);

}  // namespace amct::decompose
