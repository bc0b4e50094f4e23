#pragma once

#include <optional>

#include "amct/decompose/leading_part.h"

namespace amct::decompose {

/// Whether subspace iteration is faster than the exact way for k vectors of a matrix of this size.
bool prefers_subspace(std::int64_t rows, std::int64_t columns, std::int64_t k);

/// What subspace iteration found of a matrix.
template <typename T>
struct Subspace {
  LeadingPart<T> part;
  Matrix<T> all;  // orthonormal rows that span more than the k vectors
};

/// The leading k vectors of a matrix by filtered subspace iteration in the matrix's own precision:
/// the error of the approximation with them is within one percent of the least possible,
/// as far as the course of the iteration tells. None when it does not settle. The squares are
/// lower bounds of the true ones; more than k are given, and the sum of those left out is exact.
/// Deterministic.
template <typename T>
std::optional<Subspace<T>> iterate_subspace(const Matrix<T>& matrix, double norm_squared,
                                            std::int64_t k, Workers workers);

/// All squares: those of the subspace, and for the rest a spectrum with the right sum, whose shape
/// comes from the Lanczos quadrature of a few random vectors (stochastic: good to some percent).
template <typename T>
std::vector<double> estimate_spectrum(const Matrix<T>& matrix, double norm_squared,
                                      const Subspace<T>& subspace);

}  // namespace amct::decompose
