#include "amct/decompose/data_fit.h"

#include <cmath>
#include <utility>
#include <vector>

#include "amct/base/error.h"
#include "amct/decompose/leading_part.h"
#include "amct/kernels/linear_algebra.h"

namespace amct::decompose {
namespace {

using kernels::Transpose;

constexpr double kDamping = 1e-3;

/// Lower triangular L with L L^T = moments + damping, zeros above the diagonal.
template <typename T>
Matrix<T> square_root(std::span<const double> moments, std::int64_t n) {
  std::vector<double> lower(moments.begin(), moments.end());
  double trace = 0;
  for (std::int64_t i = 0; i < n; ++i) trace += lower[static_cast<std::size_t>(i * n + i)];
  // Without any input every output error is zero: all directions count alike then.
  const double mean = trace > 0 ? trace / static_cast<double>(n) : 1;
  for (std::int64_t i = 0; i < n; ++i)
    lower[static_cast<std::size_t>(i * n + i)] += kDamping * mean;
  if (!kernels::cholesky(n, lower.data()))
    raise(ErrorCode::kRuntime,
          "the second moments of the data are no covariance; check the data for extreme values");
  Matrix<T> root(n, n);
  const double scale = 1 / std::sqrt(mean);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      root.row(i)[j] =
          j <= i ? static_cast<T>(scale * lower[static_cast<std::size_t>(i * n + j)]) : T{0};
  return root;
}

/// The first `rank` rows of `basis`, each times root^-1 from the right.
template <typename T>
Matrix<T> unweighted(const Matrix<T>& basis, std::int64_t rank, const Matrix<T>& root) {
  const std::int64_t n = root.rows;
  Matrix<T> columns(n, rank);
  for (std::int64_t i = 0; i < rank; ++i)
    for (std::int64_t j = 0; j < n; ++j) columns.row(j)[i] = basis.row(i)[j];
  kernels::solve_lower_transposed(n, rank, root.data(), columns.data());
  Matrix<T> rows(rank, n);
  for (std::int64_t i = 0; i < rank; ++i)
    for (std::int64_t j = 0; j < n; ++j) rows.row(i)[j] = columns.row(j)[i];
  return rows;
}

template <typename T>
double kernel_error(const Matrix<T>& kernel, const DataFit<T>& fit, Workers workers) {
  Matrix<T> rest(kernel.rows, kernel.columns);
  std::copy_n(kernel.data(), kernel.rows * kernel.columns, rest.data());
  kernels::gemm(Transpose::kYes, Transpose::kNo, kernel.rows, kernel.columns, fit.basis.rows, T{-1},
                fit.basis.data(), fit.core.data(), T{1}, rest.data());
  return std::sqrt(norm_squared(rest, workers) / norm_squared(kernel, workers));
}

}  // namespace

template <typename T>
DataFit<T> fit_to_data(const Matrix<T>& kernel, std::int64_t rank, std::span<const double> moments,
                       bool inputs_are_rows, Workers workers) {
  const std::int64_t inputs = inputs_are_rows ? kernel.rows : kernel.columns;
  const Matrix<T> root = square_root<T>(moments, inputs);
  Matrix<T> weighted(kernel.rows, kernel.columns);
  if (inputs_are_rows)
    kernels::gemm(Transpose::kYes, Transpose::kNo, inputs, kernel.columns, inputs, T{1},
                  root.data(), kernel.data(), T{0}, weighted.data());
  else
    kernels::gemm(Transpose::kNo, Transpose::kNo, kernel.rows, inputs, inputs, T{1}, kernel.data(),
                  root.data(), T{0}, weighted.data());
  LeadingPart<T> part = exact_part(weighted);
  Matrix<T> core = project(part.basis, rank, weighted);
  part.basis.rows = rank;
  DataFit<T> fit;
  fit.output_error =
      relative_error(weighted, norm_squared(weighted, workers), part.basis, core, workers);
  if (inputs_are_rows) {
    fit.basis = unweighted(part.basis, rank, root);
    fit.core = std::move(core);
  } else {
    fit.core = project(part.basis, rank, kernel);
    fit.basis = std::move(part.basis);
  }
  fit.kernel_error = kernel_error(kernel, fit, workers);
  return fit;
}

template DataFit<float> fit_to_data(const Matrix<float>&, std::int64_t, std::span<const double>,
                                    bool, Workers);
template DataFit<double> fit_to_data(const Matrix<double>&, std::int64_t, std::span<const double>,
                                     bool, Workers);

}  // namespace amct::decompose
