#include "amct/decompose/leading_part.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <type_traits>

#include "amct/base/error.h"
#include "amct/kernels/linear_algebra.h"

namespace amct::decompose {
namespace {

using kernels::Transpose;

[[noreturn]] void no_convergence(std::int64_t rows, std::int64_t columns) {
  raise(ErrorCode::kRuntime,
        "the singular value decomposition of a matrix [{}, {}] did not converge; check the kernel "
        "for values of extreme size, or leave the layer out",
        rows, columns);
}

// matrix * matrix^T in double, lower triangle. What float data hold of it is exact to double's
// precision, so singular values come out to about 1e-8 of the largest: below what float resolves.
Matrix<double> gram_matrix(const Matrix<float>& m) {
  constexpr std::int64_t kBlock = 2048;
  Matrix<double> gram(m.rows, m.rows);
  for (std::int64_t first = 0; first < m.columns; first += kBlock) {
    const std::int64_t width = std::min(kBlock, m.columns - first);
    Matrix<double> block(m.rows, width);
    for (std::int64_t i = 0; i < m.rows; ++i) std::copy_n(m.row(i) + first, width, block.row(i));
    kernels::gram(m.rows, width, block.data(), first == 0 ? 0.0 : 1.0, gram.data());
  }
  return gram;
}

std::vector<double> descending(std::vector<double> squares) {
  for (double& s : squares) s = std::max(s, 0.0);
  std::ranges::sort(squares, std::greater{});
  return squares;
}

}  // namespace

template <>
LeadingPart<float> exact_part(const Matrix<float>& matrix) {
  const std::int64_t n = matrix.rows;
  Matrix<double> vectors = gram_matrix(matrix);
  std::vector<double> values(static_cast<std::size_t>(n));
  if (!kernels::symmetric_eigen(n, vectors.data(), true, values.data())) {
    no_convergence(n, matrix.columns);
  }
  LeadingPart<float> out;
  out.basis = Matrix<float>(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    std::ranges::transform(vectors.row(n - 1 - i), vectors.row(n - 1 - i) + n, out.basis.row(i),
                           [](double v) { return static_cast<float>(v); });
  }
  out.squares = descending(std::move(values));
  return out;
}

template <>
LeadingPart<double> exact_part(const Matrix<double>& matrix) {
  const std::int64_t n = matrix.rows;
  Matrix<double> copy(n, matrix.columns);
  std::copy_n(matrix.data(), n * matrix.columns, copy.data());
  LeadingPart<double> out;
  out.basis = Matrix<double>(n, n);
  out.squares.resize(static_cast<std::size_t>(n));
  if (!kernels::left_singular_vectors(n, matrix.columns, copy.data(), out.squares.data(),
                                      out.basis.data())) {
    no_convergence(n, matrix.columns);
  }
  for (double& s : out.squares) s *= s;
  return out;
}

template <typename T>
std::vector<double> all_squares(const Matrix<T>& matrix) {
  const std::int64_t n = matrix.rows;
  Matrix<double> gram;
  if constexpr (std::is_same_v<T, float>) {
    gram = gram_matrix(matrix);
  } else {
    gram = Matrix<double>(n, n);
    kernels::gram(n, matrix.columns, matrix.data(), 0.0, gram.data());
  }
  std::vector<double> values(static_cast<std::size_t>(n));
  if (!kernels::symmetric_eigen(n, gram.data(), false, values.data())) {
    no_convergence(n, matrix.columns);
  }
  return descending(std::move(values));
}

template <typename T>
Matrix<T> project(const Matrix<T>& basis, std::int64_t rank, const Matrix<T>& matrix) {
  Matrix<T> core(rank, matrix.columns);
  kernels::gemm(Transpose::kNo, Transpose::kNo, rank, matrix.columns, matrix.rows, T{1},
                basis.data(), matrix.data(), T{0}, core.data());
  return core;
}

template <typename T>
double norm_squared(const Matrix<T>& m, Workers workers) {
  std::vector<double> sums(static_cast<std::size_t>(m.rows));
  for_each(workers, sums.size(), [&](std::size_t i) {
    const T* row = m.row(static_cast<std::int64_t>(i));
    // Several sums side by side, so that the additions need not wait for each other.
    std::array<double, 8> part{};
    std::int64_t j = 0;
    for (; j + 8 <= m.columns; j += 8) {
      for (std::size_t k = 0; k < 8; ++k) {
        const auto v = static_cast<double>(row[j + static_cast<std::int64_t>(k)]);
        part[k] += v * v;
      }
    }
    for (; j < m.columns; ++j) part[0] += static_cast<double>(row[j]) * static_cast<double>(row[j]);
    sums[i] = std::accumulate(part.begin(), part.end(), 0.0);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template <typename T>
double relative_error(const Matrix<T>& matrix, double matrix_norm_squared, const Matrix<T>& basis,
                      const Matrix<T>& core, Workers workers) {
  // |matrix|^2 - |core|^2 is the answer, unless too many digits cancel.
  const double smallest = std::is_same_v<T, float> ? 1e-3 : 1e-9;
  const double lost = 1 - norm_squared(core, workers) / matrix_norm_squared;
  if (lost > smallest) return std::sqrt(lost);
  constexpr std::int64_t kBlock = 256;
  double sum = 0;
  for (std::int64_t first = 0; first < matrix.rows; first += kBlock) {
    const std::int64_t height = std::min(kBlock, matrix.rows - first);
    Matrix<T> rest(height, matrix.columns);
    std::copy_n(matrix.row(first), height * matrix.columns, rest.data());
    Matrix<T> slice(core.rows, height);
    for (std::int64_t i = 0; i < core.rows; ++i) {
      std::copy_n(basis.row(i) + first, height, slice.row(i));
    }
    kernels::gemm(Transpose::kYes, Transpose::kNo, height, matrix.columns, core.rows, T{-1},
                  slice.data(), core.data(), T{1}, rest.data());
    sum += norm_squared(rest, workers);
  }
  return std::sqrt(sum / matrix_norm_squared);
}

template std::vector<double> all_squares(const Matrix<float>&);
template std::vector<double> all_squares(const Matrix<double>&);
template Matrix<float> project(const Matrix<float>&, std::int64_t, const Matrix<float>&);
template Matrix<double> project(const Matrix<double>&, std::int64_t, const Matrix<double>&);
template double norm_squared(const Matrix<float>&, Workers);
template double norm_squared(const Matrix<double>&, Workers);
template double relative_error(const Matrix<float>&, double, const Matrix<float>&,
                               const Matrix<float>&, Workers);
template double relative_error(const Matrix<double>&, double, const Matrix<double>&,
                               const Matrix<double>&, Workers);

}  // namespace amct::decompose
