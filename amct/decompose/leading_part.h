#pragma once

#include <optional>
#include <vector>

#include "amct/decompose/unfold.h"

namespace amct::decompose {

/// The leading left singular vectors of a matrix, and what they make of it.
template <typename T>
struct LeadingPart {
  std::vector<double> squares;  // squared singular values, descending; at least as many as vectors
  Matrix<T> basis;              // [k, rows], orthonormal rows, in the order of `squares`
  Matrix<T> core;               // basis * matrix, [k, columns]; empty when not computed yet
};

/// All singular values and left vectors. Throws Error(kRuntime) when LAPACK does not converge.
template <typename T>
LeadingPart<T> exact_part(const Matrix<T>& matrix);

/// All squared singular values, descending.
template <typename T>
std::vector<double> all_squares(const Matrix<T>& matrix);

/// basis_r * matrix, with the first r rows of the basis: [r, columns].
template <typename T>
Matrix<T> project(const Matrix<T>& basis, std::int64_t rank, const Matrix<T>& matrix);

/// Squared Frobenius norm.
template <typename T>
double norm_squared(const Matrix<T>& m, Workers workers);

/// |matrix - basis^T * core| / |matrix|, Frobenius norms, for an orthonormal basis.
template <typename T>
double relative_error(const Matrix<T>& matrix, double matrix_norm_squared, const Matrix<T>& basis,
                      const Matrix<T>& core, Workers workers);

}  // namespace amct::decompose
