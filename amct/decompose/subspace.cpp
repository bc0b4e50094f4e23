#include "amct/decompose/subspace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>

#include "amct/base/log.h"
#include "amct/kernels/linear_algebra.h"

namespace amct::decompose {
namespace {

using kernels::Transpose;

constexpr std::int64_t kSmallestRows = 384;  // below, the exact way takes milliseconds
constexpr double kLargestShare = 0.5;        // of the rows
constexpr double kOversampling = 1.15;
constexpr double kSettled = 0.01;     // of the error
constexpr double kWide = 1e-4;        // ratio of squares that float still resolves
constexpr double kNothing = 1e-12;    // of the squared norm: float has no more
constexpr std::size_t kFirstEnd = 3;  // step
constexpr unsigned kSeed = 20130131;

// Zeros of the filter polynomial in [0, 1], where 1 is the smallest square wanted. The first three
// are those of the Chebyshev polynomial of degree 3 that is 0 at 0; the others fill the gaps.
constexpr std::array<double, 8> kZeros{0.0, 0.464, 0.928, 0.15, 0.72, 0.30, 0.98, 0.06};

std::int64_t width_for(std::int64_t rows, std::int64_t k) {
  const auto wide = static_cast<std::int64_t>(std::ceil(kOversampling * static_cast<double>(k)));
  return std::min(rows, (std::max(wide, k + 16) + 15) / 16 * 16);
}

// S * matrix, where each column of S has kSpread random signs at random places (Cohen, SODA 2016):
// as good a start as a dense random S, also for kernels whose singular vectors are sparse, at the
// cost of reading the matrix once.
template <typename T>
Matrix<T> sketch(const Matrix<T>& matrix, std::int64_t width, Workers workers) {
  constexpr std::size_t kSpread = 8;
  constexpr std::int64_t kTile = 64;  // columns, so that those of the sketch stay in the cache
  struct Place {
    std::int64_t row;
    T sign;
  };
  std::mt19937 random(kSeed);
  std::vector<Place> places(static_cast<std::size_t>(matrix.rows) * kSpread);
  // One place in each eighth of the rows: never the same twice, and all about equally often.
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto part = static_cast<std::int64_t>(i % kSpread);
    const std::int64_t first = part * width / static_cast<std::int64_t>(kSpread);
    const std::int64_t end = (part + 1) * width / static_cast<std::int64_t>(kSpread);
    const auto bits = static_cast<std::uint32_t>(random());
    places[i] = {first + static_cast<std::int64_t>(bits >> 1) % (end - first),
                 (bits & 1U) != 0 ? T{1} : T{-1}};
  }
  Matrix<T> out(width, matrix.columns);
  const auto tiles = static_cast<std::size_t>((matrix.columns + kTile - 1) / kTile);
  for_each(workers, tiles, [&](std::size_t tile) {
    const std::int64_t first = static_cast<std::int64_t>(tile) * kTile;
    const std::int64_t size = std::min(kTile, matrix.columns - first);
    for (std::int64_t i = 0; i < width; ++i) std::fill_n(out.row(i) + first, size, T{0});
    for (std::int64_t i = 0; i < matrix.rows; ++i) {
      const T* from = matrix.row(i) + first;
      for (std::size_t k = 0; k < kSpread; ++k) {
        const Place& place = places[static_cast<std::size_t>(i) * kSpread + k];
        T* to = out.row(place.row) + first;
        for (std::int64_t j = 0; j < size; ++j) to[j] += place.sign * from[j];
      }
    }
  });
  return out;
}

// x * x^T in double, lower triangle.
template <typename T>
Matrix<double> double_gram(const Matrix<T>& x) {
  constexpr std::int64_t kBlock = 1024;
  Matrix<double> out(x.rows, x.rows);
  for (std::int64_t first = 0; first < x.columns; first += kBlock) {
    const std::int64_t size = std::min(kBlock, x.columns - first);
    Matrix<double> block(x.rows, size);
    for (std::int64_t i = 0; i < x.rows; ++i) std::copy_n(x.row(i) + first, size, block.row(i));
    kernels::gram(x.rows, size, block.data(), first == 0 ? 0.0 : 1.0, out.data());
  }
  return out;
}

// Makes the rows about orthonormal, good enough to go on with; exactly when that fails.
template <typename T>
void orthonormalize_roughly(Matrix<T>* x) {
  Matrix<double> gram = double_gram(*x);
  if (!kernels::cholesky(x->rows, gram.data())) {
    return kernels::orthonormalize_rows(x->rows, x->columns, x->data());
  }
  Matrix<T> lower(x->rows, x->rows);
  std::transform(gram.data(), gram.data() + x->rows * x->rows, lower.data(),
                 [](double v) { return static_cast<T>(v); });
  kernels::solve_lower(x->rows, x->columns, lower.data(), x->data());
}

// What a subspace holds: squared singular values, descending, and coefficients of the vectors in
// it.
template <typename T>
struct Ritz {
  std::vector<double> squares;  // empty when LAPACK does not converge
  Matrix<T> vectors;            // rows in the order of `squares`; when asked for
};

template <typename T, typename Number>
Ritz<T> ritz_of(Matrix<Number> gram, bool vectors) {
  const std::int64_t n = gram.rows;
  std::vector<Number> values(static_cast<std::size_t>(n));
  Ritz<T> out;
  if (!kernels::symmetric_eigen(n, gram.data(), vectors, values.data())) return out;
  out.squares.assign(values.rbegin(), values.rend());  // LAPACK's order is ascending
  for (double& v : out.squares) v = std::max(v, 0.0);
  if (!vectors) return out;
  out.vectors = Matrix<T>(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const Number* from = gram.row(n - 1 - i);
    std::transform(from, from + n, out.vectors.row(i), [](Number v) { return static_cast<T>(v); });
  }
  return out;
}

// `wide`: the squares differ so much that float would lose the small ones.
template <typename T>
Ritz<T> ritz(const Matrix<T>& b, bool wide, bool vectors) {
  if (wide) return ritz_of<T>(double_gram(b), vectors);
  Matrix<T> gram(b.rows, b.rows);
  kernels::gram(b.rows, b.columns, b.data(), T{0}, gram.data());
  return ritz_of<T>(std::move(gram), vectors);
}

// How far the error can still fall, as a share of it, from what the steps have caught so far.
double unsettled(const std::vector<double>& caught, double norm_squared) {
  const std::size_t n = caught.size();
  if (n < 3) return 1;
  const double best = *std::ranges::max_element(caught);
  const double error = std::max(0.0, norm_squared - best);
  // Rounding, not progress, beyond this.
  if (std::fabs(caught[n - 1] - caught[n - 2]) <= 1e-3 * error) return 0;
  if (caught[n - 1] < best) return 1;
  const double last = caught[n - 1] - caught[n - 2];
  const double before = std::fabs(caught[n - 2] - caught[n - 3]);
  const double factor = std::min(0.9, last / std::max(last, before));
  return error > 0 ? 0.5 * last * factor / (1 - factor) / error : 0;
}

// Turns the rows of `q` and `b` = q * matrix to the singular vectors that they span.
template <typename T>
LeadingPart<T> rotate(const Matrix<T>& q, const Matrix<T>& b, Ritz<T> ritz, std::int64_t k) {
  LeadingPart<T> out;
  out.squares = std::move(ritz.squares);
  out.basis = Matrix<T>(k, q.columns);
  out.core = Matrix<T>(k, b.columns);
  kernels::gemm(Transpose::kNo, Transpose::kNo, k, q.columns, q.rows, T{1}, ritz.vectors.data(),
                q.data(), T{0}, out.basis.data());
  kernels::gemm(Transpose::kNo, Transpose::kNo, k, b.columns, b.rows, T{1}, ritz.vectors.data(),
                b.data(), T{0}, out.core.data());
  return out;
}

// Filtered subspace iteration on matrix * matrix^T.
template <typename T>
class Iteration {
 public:
  Iteration(const Matrix<T>& matrix, double norm_squared, std::int64_t k, Workers workers)
      : matrix_(matrix),
        norm_squared_(norm_squared),
        k_(k),
        b_(sketch(matrix, width_for(matrix.rows, k), workers)),
        q_(b_.rows, matrix.rows) {}

  std::optional<Subspace<T>> run() {
    times_transpose(T{0});
    for (std::size_t step = 1; step < kZeros.size(); ++step) {
      const bool may_end = step >= kFirstEnd;
      Ritz<T> found = rayleigh_ritz(may_end);
      if (found.squares.empty()) return std::nullopt;
      const bool nothing_left = norm_squared_ - caught_.back() < kNothing * norm_squared_;
      // Double asks for more than squares can tell.
      if (nothing_left && std::is_same_v<T, double>) return std::nullopt;
      if (may_end && (nothing_left || unsettled(caught_, norm_squared_) < kSettled)) {
        Subspace<T> out;
        out.part = rotate(q_, b_, std::move(found), k_);
        out.all = std::move(q_);
        return out;
      }
      advance(kZeros[step] * found.squares.back());
    }
    log_debug("subspace iteration for {} of {} vectors did not settle", k_, matrix_.rows);
    return std::nullopt;
  }

 private:
  // q = b * matrix^T + beta * q
  void times_transpose(T beta) {
    kernels::gemm(Transpose::kNo, Transpose::kYes, b_.rows, matrix_.rows, matrix_.columns, T{1},
                  b_.data(), matrix_.data(), beta, q_.data());
  }

  // Leaves q orthonormal and b = q * matrix.
  Ritz<T> rayleigh_ritz(bool may_end) {
    if (may_end || wide_) {
      kernels::orthonormalize_rows(q_.rows, q_.columns, q_.data());
    } else {
      orthonormalize_roughly(&q_);
    }
    kernels::gemm(Transpose::kNo, Transpose::kNo, q_.rows, matrix_.columns, matrix_.rows, T{1},
                  q_.data(), matrix_.data(), T{0}, b_.data());
    Ritz<T> found = ritz(b_, wide_, may_end);
    if (std::is_same_v<T, float> && !wide_ && !found.squares.empty() && is_wide(found.squares)) {
      wide_ = true;
      caught_.clear();
      found = ritz(b_, wide_, may_end);
    }
    if (!found.squares.empty()) caught_.push_back(caught(found.squares));
    return found;
  }

  // One more factor of the filter: matrix * matrix^T - zero. A wide spectrum goes by half steps
  // instead, because small components would drown in the rounding of the large ones.
  void advance(double zero) {
    if (wide_) {
      kernels::orthonormalize_rows(b_.rows, b_.columns, b_.data());
      return times_transpose(T{0});
    }
    // A zero among wanted squares, as many equal ones lead to, does harm; then none.
    const std::size_t n = caught_.size();
    const bool harmed = n >= 2 && caught_[n - 1] < caught_[n - 2];
    times_transpose(harmed ? T{0} : static_cast<T>(-zero));
  }

  [[nodiscard]] double caught(const std::vector<double>& squares) const {
    return std::accumulate(squares.begin(), squares.begin() + k_, 0.0);
  }

  [[nodiscard]] bool is_wide(const std::vector<double>& squares) const {
    return squares[static_cast<std::size_t>(k_ - 1)] < kWide * squares.front() ||
           norm_squared_ - caught(squares) < kWide * norm_squared_;
  }

  const Matrix<T>& matrix_;
  double norm_squared_;
  std::int64_t k_;
  Matrix<T> b_;
  Matrix<T> q_;
  std::vector<double> caught_;  // squared norm that the first k vectors hold, after each step
  bool wide_ = false;
};

}  // namespace

bool prefers_subspace(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  return rows >= kSmallestRows && columns >= rows &&
         static_cast<double>(width_for(rows, k)) <= kLargestShare * static_cast<double>(rows);
}

template <typename T>
std::optional<Subspace<T>> iterate_subspace(const Matrix<T>& matrix, double norm_squared,
                                            std::int64_t k, Workers workers) {
  return Iteration<T>(matrix, norm_squared, k, workers).run();
}

template std::optional<Subspace<float>> iterate_subspace(const Matrix<float>&, double, std::int64_t,
                                                         Workers);
template std::optional<Subspace<double>> iterate_subspace(const Matrix<double>&, double,
                                                          std::int64_t, Workers);

}  // namespace amct::decompose
