#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

#include "amct/decompose/subspace.h"
#include "amct/kernels/linear_algebra.h"

// Stochastic Lanczos quadrature of what a subspace leaves of a matrix (Golub and Meurant, Matrices,
// Moments and Quadrature, 2010; Ubaru, Chen, Saad, SIAM J. Matrix Anal. Appl. 38, 2017).
namespace amct::decompose {
namespace {

using kernels::Transpose;

constexpr std::int64_t kProbes = 16;
constexpr std::int64_t kSteps = 12;

// y -= (y * basis^T) * basis
template <typename T>
void take_off(const Matrix<T>& basis, Matrix<T>* y) {
  Matrix<T> parts(y->rows, basis.rows);
  kernels::gemm(Transpose::kNo, Transpose::kYes, y->rows, basis.rows, basis.columns, T{1},
                y->data(), basis.data(), T{0}, parts.data());
  kernels::gemm(Transpose::kNo, Transpose::kNo, y->rows, basis.columns, basis.rows, T{-1},
                parts.data(), basis.data(), T{1}, y->data());
}

template <typename T>
double dot(const T* a, const T* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// The coefficients of one probe's Lanczos recurrence.
struct Recurrence {
  std::vector<double> diagonal;
  std::vector<double> beside;
  bool ended = false;
};

// Lanczos of all probes at once on (1 - q^T q) a a^T (1 - q^T q).
template <typename T>
std::vector<Recurrence> lanczos(const Matrix<T>& a, const Matrix<T>& q) {
  std::mt19937 random(19610217);
  std::vector<Matrix<T>> vectors;
  vectors.emplace_back(kProbes, a.rows);
  for (std::int64_t i = 0; i < kProbes * a.rows; ++i) {
    vectors[0].data()[i] = (random() & 1U) != 0 ? T{1} : T{-1};
  }
  take_off(q, &vectors[0]);
  std::vector<Recurrence> out(kProbes);
  const auto normalize = [&](Matrix<T>* m, std::int64_t probe) {
    const double size = std::sqrt(dot(m->row(probe), m->row(probe), a.rows));
    const T scale = size > 0 ? static_cast<T>(1 / size) : T{0};
    for (std::int64_t i = 0; i < a.rows; ++i) m->row(probe)[i] *= scale;
    return size;
  };
  for (std::int64_t probe = 0; probe < kProbes; ++probe) normalize(&vectors[0], probe);
  Matrix<T> wide(kProbes, a.columns);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    Matrix<T> next(kProbes, a.rows);
    kernels::gemm(Transpose::kNo, Transpose::kNo, kProbes, a.columns, a.rows, T{1},
                  vectors.back().data(), a.data(), T{0}, wide.data());
    kernels::gemm(Transpose::kNo, Transpose::kYes, kProbes, a.rows, a.columns, T{1}, wide.data(),
                  a.data(), T{0}, next.data());
    take_off(q, &next);
    for (std::int64_t probe = 0; probe < kProbes; ++probe) {
      Recurrence& r = out[static_cast<std::size_t>(probe)];
      if (r.ended) continue;
      T* y = next.row(probe);
      const double diagonal = dot(y, vectors.back().row(probe), a.rows);
      // Full orthogonalisation: rounding would bring found directions back.
      for (const Matrix<T>& v : vectors) {
        const T part = static_cast<T>(dot(y, v.row(probe), a.rows));
        for (std::int64_t i = 0; i < a.rows; ++i) y[i] -= part * v.row(probe)[i];
      }
      r.diagonal.push_back(diagonal);
      const double beside = normalize(&next, probe);
      r.ended = beside <= 1e-6 * std::fabs(r.diagonal.front());
      if (!r.ended) r.beside.push_back(beside);
    }
    vectors.push_back(std::move(next));
  }
  return out;
}

// Nodes and weights of the Gauss quadrature of a recurrence; the weights add up to 1.
void add_nodes(const Recurrence& r, std::vector<std::pair<double, double>>* nodes) {
  const auto n = static_cast<std::int64_t>(r.diagonal.size());
  Matrix<double> tridiagonal(n, n);
  std::fill_n(tridiagonal.data(), n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    tridiagonal.row(i)[i] = r.diagonal[static_cast<std::size_t>(i)];
    if (i > 0) tridiagonal.row(i)[i - 1] = r.beside[static_cast<std::size_t>(i - 1)];
  }
  std::vector<double> values(static_cast<std::size_t>(n));
  if (!kernels::symmetric_eigen(n, tridiagonal.data(), true, values.data())) return;
  for (std::int64_t i = 0; i < n; ++i) {
    const double first = tridiagonal.row(i)[0];
    nodes->emplace_back(std::max(0.0, values[static_cast<std::size_t>(i)]), first * first);
  }
}

// `count` values, descending, at evenly spaced shares of the weight of the nodes.
std::vector<double> quantiles(std::vector<std::pair<double, double>> nodes, std::size_t count) {
  std::ranges::sort(nodes, std::greater{});
  double total = 0;
  for (const auto& node : nodes) total += node.second;
  std::vector<double> out;
  double done = 0;  // weight before node `at`
  std::size_t at = 0;
  const auto centre = [&](std::size_t i, double before) { return before + 0.5 * nodes[i].second; };
  for (std::size_t i = 0; i < count; ++i) {
    const double wanted = total * (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    while (at + 1 < nodes.size() && centre(at + 1, done + nodes[at].second) < wanted) {
      done += nodes[at++].second;
    }
    const double left = centre(at, done);
    if (wanted <= left || at + 1 == nodes.size()) {
      out.push_back(nodes[at].first);
      continue;
    }
    const double right = centre(at + 1, done + nodes[at].second);
    const double share = right > left ? (wanted - left) / (right - left) : 0.0;
    out.push_back(std::lerp(nodes[at].first, nodes[at + 1].first, share));
  }
  return out;
}

}  // namespace

template <typename T>
std::vector<double> estimate_spectrum(const Matrix<T>& matrix, double norm_squared,
                                      const Subspace<T>& subspace) {
  std::vector<double> out = subspace.part.squares;
  const auto missing = static_cast<std::size_t>(matrix.rows) - out.size();
  const double rest = std::max(0.0, norm_squared - std::accumulate(out.begin(), out.end(), 0.0));
  std::vector<std::pair<double, double>> nodes;
  for (const Recurrence& r : lanczos(matrix, subspace.all)) add_nodes(r, &nodes);
  std::vector<double> tail = quantiles(std::move(nodes), missing);
  const double sum = std::accumulate(tail.begin(), tail.end(), 0.0);
  for (double& s : tail) s = sum > 0 ? s * (rest / sum) : rest / static_cast<double>(missing);
  out.insert(out.end(), tail.begin(), tail.end());
  std::ranges::sort(out, std::greater{});
  return out;
}

template std::vector<double> estimate_spectrum(const Matrix<float>&, double,
                                               const Subspace<float>&);
template std::vector<double> estimate_spectrum(const Matrix<double>&, double,
                                               const Subspace<double>&);

}  // namespace amct::decompose
