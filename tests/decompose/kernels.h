#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "amct/decompose/network.h"

// Kernels to decompose, and slow references of what decomposition promises.
namespace amct::decompose::test {

template <typename T>
std::vector<double> as_double(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

inline std::vector<double> values_of(const Weights& w) {
  return std::visit([](const auto& x) { return as_double(x); }, w);
}

/// He-initialised kernel.
template <typename T>
std::vector<T> he_kernel(const ConvShape& s, unsigned seed) {
  std::mt19937 random(seed);
  const auto fan_in = static_cast<double>(s.in_channels * s.kernel_h * s.kernel_w);
  std::normal_distribution<double> normal(0, std::sqrt(2 / fan_in));
  std::vector<T> out(
      static_cast<std::size_t>(s.out_channels * s.in_channels * s.kernel_h * s.kernel_w));
  for (T& x : out) x = static_cast<T>(normal(random));
  return out;
}

template <typename T>
Layer layer_of(std::string name, const ConvShape& shape, std::vector<T> kernel) {
  Layer out;
  out.name = std::move(name);
  out.shape = shape;
  out.read_weights = [kernel = std::move(kernel)] { return Weights(kernel); };
  return out;
}

/// The kernel that the two parts make together: K[o, c, a + d, b + e] += last[o, r, a, b] *
/// first[r, c, d, e].
inline std::vector<double> compose(const Factors& f, const ConvShape& s) {
  const std::vector<double> first = values_of(f.first);
  const std::vector<double> last = values_of(f.last);
  std::vector<double> out(
      static_cast<std::size_t>(s.out_channels * s.in_channels * s.kernel_h * s.kernel_w));
  const auto at = [](const std::vector<double>& x, const std::array<std::int64_t, 4>& shape,
                     std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
    return x[static_cast<std::size_t>(((i * shape[1] + j) * shape[2] + k) * shape[3] + l)];
  };
  std::size_t position = 0;
  for (std::int64_t o = 0; o < s.out_channels; ++o) {
    for (std::int64_t c = 0; c < s.in_channels; ++c) {
      for (std::int64_t h = 0; h < s.kernel_h; ++h) {
        for (std::int64_t w = 0; w < s.kernel_w; ++w, ++position) {
          // One of the parts has a side of 1 in each direction, so each sum has one place.
          const std::int64_t fh = f.first_shape[2] > 1 ? h : 0;
          const std::int64_t fw = f.first_shape[3] > 1 ? w : 0;
          for (std::int64_t r = 0; r < f.first_shape[0]; ++r) {
            out[position] += at(last, f.last_shape, o, r, h - fh, w - fw) *
                             at(first, f.first_shape, r, c, fh, fw);
          }
        }
      }
    }
  }
  return out;
}

inline double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return std::sqrt(sum);
}

inline double distance(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b.at(i);
  return norm(a);
}

/// The kernel as the matrix of upstream_facts 4.2, by its definition: swap axes, unfold.
inline std::vector<std::vector<double>> matrix_of(const std::vector<double>& kernel,
                                                  const ConvShape& s, Mode mode) {
  const bool rows_are_inputs = mode == Mode::kScfk || mode == Mode::kScsk;
  const bool rows_have_height = mode == Mode::kScfk || mode == Mode::kFcfk;
  const std::int64_t rk = rows_have_height ? s.kernel_h : s.kernel_w;
  const std::int64_t ck = rows_have_height ? s.kernel_w : s.kernel_h;
  const std::int64_t rc = rows_are_inputs ? s.in_channels : s.out_channels;
  const std::int64_t cc = rows_are_inputs ? s.out_channels : s.in_channels;
  std::vector<std::vector<double>> out(static_cast<std::size_t>(rc * rk),
                                       std::vector<double>(static_cast<std::size_t>(cc * ck)));
  std::size_t position = 0;
  for (std::int64_t o = 0; o < s.out_channels; ++o) {
    for (std::int64_t c = 0; c < s.in_channels; ++c) {
      for (std::int64_t h = 0; h < s.kernel_h; ++h) {
        for (std::int64_t w = 0; w < s.kernel_w; ++w) {
          const std::int64_t row = (rows_are_inputs ? c : o) * rk + (rows_have_height ? h : w);
          const std::int64_t column = (rows_are_inputs ? o : c) * ck + (rows_have_height ? w : h);
          out[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = kernel[position++];
        }
      }
    }
  }
  return out;
}

/// Singular values, descending, by one-sided Jacobi rotations of the rows.
std::vector<double> jacobi_singular_values(std::vector<std::vector<double>> rows);

inline double tail_norm(const std::vector<double>& singular_values, std::int64_t rank) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(rank); i < singular_values.size(); ++i) {
    sum += singular_values[i] * singular_values[i];
  }
  return std::sqrt(sum);
}

}  // namespace amct::decompose::test
