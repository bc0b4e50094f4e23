#include "amct/decompose/unfold.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace amct::decompose {
namespace {

constexpr std::int64_t kTile =
    32;  // channels; a tile of 32 x 32 kernels of 5 x 5 fits the L2 cache

// Strides of the four axes of the matrix in the kernel: its row is (row_channel, row_kernel), its
// column (column_channel, column_kernel), the channel first.
struct Axes {
  std::int64_t row_channels, row_kernel, column_channels, column_kernel;
  std::int64_t row_channel_stride, row_kernel_stride, column_channel_stride, column_kernel_stride;
};

Axes axes_of(const ConvShape& s, Mode mode) {
  const std::int64_t out_stride = s.in_channels * s.kernel_h * s.kernel_w;
  const std::int64_t in_stride = s.kernel_h * s.kernel_w;
  const bool rows_have_height = mode == Mode::kScfk || mode == Mode::kFcfk;
  Axes a{s.out_channels, s.kernel_w, s.in_channels, s.kernel_h,
         out_stride,     1,          in_stride,     s.kernel_w};
  if (rows_are_inputs(mode)) {
    std::swap(a.row_channels, a.column_channels);
    std::swap(a.row_channel_stride, a.column_channel_stride);
  }
  if (rows_have_height) {
    std::swap(a.row_kernel, a.column_kernel);
    std::swap(a.row_kernel_stride, a.column_kernel_stride);
  }
  return a;
}

// 2^exponent as two factors, neither of which overflows.
template <typename T>
struct PowerOfTwo {
  explicit PowerOfTwo(int exponent)
      : first(std::ldexp(T{1}, exponent / 2)), second(std::ldexp(T{1}, exponent - exponent / 2)) {}
  T operator()(T x) const { return x * first * second; }
  T first, second;
};

// Copies one tile of channels; returns the sum of squares.
template <typename T>
double unfold_tile(const T* kernel, const Axes& a, std::int64_t first_row,
                   std::int64_t first_column, PowerOfTwo<T> scaled, Matrix<T>* out) {
  const std::int64_t row_end = std::min(first_row + kTile, a.row_channels);
  const std::int64_t column_end = std::min(first_column + kTile, a.column_channels);
  double sum = 0;
  for (std::int64_t rc = first_row; rc < row_end; ++rc) {
    for (std::int64_t rk = 0; rk < a.row_kernel; ++rk) {
      T* to = out->row(rc * a.row_kernel + rk) + first_column * a.column_kernel;
      const T* line = kernel + rc * a.row_channel_stride + rk * a.row_kernel_stride;
      double line_sum = 0;
      for (std::int64_t cc = first_column; cc < column_end; ++cc) {
        const T* from = line + cc * a.column_channel_stride;
        for (std::int64_t ck = 0; ck < a.column_kernel; ++ck) {
          const T value = scaled(from[ck * a.column_kernel_stride]);
          *to++ = value;
          line_sum += static_cast<double>(value) * static_cast<double>(value);
        }
      }
      sum += line_sum;
    }
  }
  return sum;
}

// [r, channels * kernel] to [channels, r, kernel], or the same as it is when the rank comes first.
template <typename T>
std::vector<T> channels_first(const Matrix<T>& m, std::int64_t channels, std::int64_t kernel,
                              Workers workers) {
  std::vector<T> out(static_cast<std::size_t>(m.rows * m.columns));
  const auto tiles = static_cast<std::size_t>((channels + kTile - 1) / kTile);
  for_each(workers, tiles, [&](std::size_t tile) {
    const std::int64_t first = static_cast<std::int64_t>(tile) * kTile;
    const std::int64_t end = std::min(first + kTile, channels);
    for (std::int64_t r = 0; r < m.rows; ++r) {
      for (std::int64_t c = first; c < end; ++c) {
        std::copy_n(m.row(r) + c * kernel, kernel, out.data() + (c * m.rows + r) * kernel);
      }
    }
  });
  return out;
}

template <typename T>
void scale_row(T* row, std::int64_t n, int exponent, double largest_value) {
  const PowerOfTwo<T> scaled(exponent);
  const T limit = static_cast<T>(std::min(largest_value, double{std::numeric_limits<T>::max()}));
  for (std::int64_t i = 0; i < n; ++i) row[i] = std::clamp(scaled(row[i]), -limit, limit);
}

// Gives the core its power of two; what would exceed the type moves to the basis.
template <typename T>
void balance(Matrix<T>* basis, Matrix<T>* core, int exponent, double largest_value,
             Workers workers) {
  for_each(workers, static_cast<std::size_t>(core->rows), [&](std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    double largest = 0;
    for (std::int64_t j = 0; j < core->columns; ++j) {
      largest = std::max(largest, std::fabs(static_cast<double>(core->row(row)[j])));
    }
    int moved = 0;
    if (largest > 0) {
      // log2 of the largest value above that of the limit, rounded up.
      moved = std::max(0, std::ilogb(largest) + 1 + exponent - std::ilogb(largest_value));
    }
    scale_row(core->row(row), core->columns, exponent - moved, largest_value);
    if (moved != 0) scale_row(basis->row(row), basis->columns, moved, largest_value);
  });
}

}  // namespace

bool rows_are_inputs(Mode mode) { return mode == Mode::kScfk || mode == Mode::kScsk; }

template <typename T>
UnfoldedKernel<T> unfold(std::span<const T> kernel, T largest, const ConvShape& shape, Mode mode,
                         Workers workers) {
  UnfoldedKernel<T> out;
  const Axes a = axes_of(shape, mode);
  out.exponent = std::ilogb(largest);
  out.matrix = Matrix<T>(a.row_channels * a.row_kernel, a.column_channels * a.column_kernel);
  const std::int64_t row_tiles = (a.row_channels + kTile - 1) / kTile;
  std::vector<double> sums(static_cast<std::size_t>(row_tiles));
  const PowerOfTwo<T> scaled(-out.exponent);
  for_each(workers, sums.size(), [&](std::size_t tile) {
    for (std::int64_t column = 0; column < a.column_channels; column += kTile) {
      sums[tile] += unfold_tile(kernel.data(), a, static_cast<std::int64_t>(tile) * kTile, column,
                                scaled, &out.matrix);
    }
  });
  for (const double sum : sums) out.norm_squared += sum;
  return out;
}

// The bits of |x|, read as integers, have the order of the numbers; those of infinity and NaN come
// last. Integers are compared several at a time, floats with NaN among them are not.
template <typename T>
T largest_magnitude(std::span<const T> x, Workers workers) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  constexpr Bits kAllButSign = ~Bits{0} >> 1;
  std::vector<Bits> found((x.size() + kBlock - 1) / kBlock);
  for_each(workers, found.size(), [&](std::size_t block) {
    Bits largest = 0;
    for (const T value : x.subspan(block * kBlock, std::min(kBlock, x.size() - block * kBlock))) {
      largest = std::max(largest, std::bit_cast<Bits>(value) & kAllButSign);
    }
    found[block] = largest;
  });
  return found.empty() ? T{0} : std::bit_cast<T>(*std::ranges::max_element(found));
}

template <typename T>
Factors fold(Matrix<T> basis, Matrix<T> core, int exponent, const ConvShape& shape, Mode mode,
             double largest_value, Workers workers) {
  const std::int64_t rank = core.rows;
  balance(&basis, &core, exponent, largest_value, workers);
  const bool basis_first = mode == Mode::kScfk || mode == Mode::kScsk;
  Matrix<T>& first = basis_first ? basis : core;
  Matrix<T>& last = basis_first ? core : basis;
  Factors out;
  const bool height = first_has_height(mode);
  out.first_shape = {rank, shape.in_channels, height ? shape.kernel_h : 1,
                     height ? 1 : shape.kernel_w};
  out.last_shape = {shape.out_channels, rank, height ? 1 : shape.kernel_h,
                    height ? shape.kernel_w : 1};
  out.first = std::vector<T>(first.data(), first.data() + first.rows * first.columns);
  first.values.reset();
  out.last = channels_first(last, shape.out_channels, last.columns / shape.out_channels, workers);
  return out;
}

template UnfoldedKernel<float> unfold(std::span<const float>, float, const ConvShape&, Mode,
                                      Workers);
template UnfoldedKernel<double> unfold(std::span<const double>, double, const ConvShape&, Mode,
                                       Workers);
template float largest_magnitude(std::span<const float>, Workers);
template double largest_magnitude(std::span<const double>, Workers);
template Factors fold(Matrix<float>, Matrix<float>, int, const ConvShape&, Mode, double, Workers);
template Factors fold(Matrix<double>, Matrix<double>, int, const ConvShape&, Mode, double, Workers);

}  // namespace amct::decompose
