#include "amct/decompose/data_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "amct/decompose/input_moments.h"
#include "amct/decompose/leading_part.h"

namespace amct::decompose {
namespace {

std::vector<float> normal(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> draw;
  std::vector<float> values(count);
  for (float& v : values) v = draw(engine);
  return values;
}

/// E[x x^T] by the definition: every place where the first convolution stands.
std::vector<double> obvious_moments(const ConvShape& s, Mode mode, const Padding& p,
                                    const std::vector<float>& x, std::int64_t height,
                                    std::int64_t width) {
  const bool tall = first_has_height(mode);
  const std::int64_t kernel = tall ? s.kernel_h : s.kernel_w;
  const std::int64_t n = s.in_channels * kernel;
  std::vector<double> sums(static_cast<std::size_t>(n * n));
  std::int64_t places = 0;
  const auto at = [&](std::int64_t c, std::int64_t h, std::int64_t w) {
    if (h < 0 || h >= height || w < 0 || w >= width) return 0.0;
    return static_cast<double>(x[static_cast<std::size_t>((c * height + h) * width + w)]);
  };
  const std::int64_t rows = tall ? (height + p.top + p.bottom - kernel) / s.stride_h + 1 : height;
  const std::int64_t columns = tall ? width : (width + p.left + p.right - kernel) / s.stride_w + 1;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j, ++places) {
      std::vector<double> patch;
      for (std::int64_t c = 0; c < s.in_channels; ++c)
        for (std::int64_t k = 0; k < kernel; ++k)
          patch.push_back(tall ? at(c, i * s.stride_h - p.top + k, j)
                               : at(c, i, j * s.stride_w - p.left + k));
      for (std::int64_t a = 0; a < n; ++a)
        for (std::int64_t b = 0; b < n; ++b)
          sums[static_cast<std::size_t>(a * n + b)] +=
              patch[static_cast<std::size_t>(a)] * patch[static_cast<std::size_t>(b)];
    }
  for (double& v : sums) v /= static_cast<double>(places);
  return sums;
}

TEST(InputMoments, MatchTheirDefinition) {
  for (const Mode mode : {Mode::kScfk, Mode::kScsk, Mode::kFcfk, Mode::kFcsk}) {
    for (const ConvShape& shape : {ConvShape{8, 3, 3, 5, 1, 1}, ConvShape{8, 3, 5, 3, 2, 1}}) {
      const Padding padding{1, 2, 0, 1};
      const std::int64_t height = 37;  // more places than one block holds
      const std::int64_t width = 41;
      const auto x = normal(static_cast<std::size_t>(3 * height * width), 1);
      InputMoments moments(shape, mode);
      moments.add(x, 1, height, width, padding);
      const std::vector<double> found = moments.lower();
      const std::vector<double> wanted = obvious_moments(shape, mode, padding, x, height, width);
      for (std::int64_t i = 0; i < moments.size(); ++i)
        for (std::int64_t j = 0; j <= i; ++j) {
          const auto k = static_cast<std::size_t>(i * moments.size() + j);
          ASSERT_NEAR(found[k], wanted[k], 1e-5) << to_string(mode) << ' ' << i << ',' << j;
        }
    }
  }
}

TEST(InputMoments, DoNotDependOnHowImagesAreBatched) {
  const ConvShape shape{4, 2, 3, 3};
  const auto x = normal(2 * 3 * 9 * 7, 2);
  InputMoments together(shape, Mode::kScfk);
  together.add(x, 3, 9, 7, {});
  InputMoments apart(shape, Mode::kScfk);
  for (std::size_t i = 0; i < 3; ++i)
    apart.add(std::span<const float>(x).subspan(i * 126, 126), 1, 9, 7, {});
  EXPECT_EQ(together.lower(), apart.lower());
}

TEST(InputMoments, CountWhatIsNotFiniteAsZero) {
  const ConvShape shape{4, 1, 3, 3};
  InputMoments moments(shape, Mode::kScfk);
  std::vector<float> x(25, 1.0F);
  x[7] = std::numeric_limits<float>::quiet_NaN();
  x[8] = std::numeric_limits<float>::infinity();
  moments.add(x, 1, 5, 5, {});
  for (const double m : moments.lower()) EXPECT_TRUE(std::isfinite(m));
}

TEST(InputMoments, AreZeroWithoutData) {
  InputMoments moments({4, 1, 3, 3}, Mode::kScfk);
  EXPECT_EQ(moments.lower(), std::vector<double>(9, 0.0));
}

/// |(A - basis^T core) weighted by the moments| / |A weighted|, squares summed by the definition.
double weighted_error(const Matrix<double>& a, const Matrix<double>& basis,
                      const Matrix<double>& core, const std::vector<double>& moments,
                      bool inputs_are_rows) {
  const std::int64_t n = inputs_are_rows ? a.rows : a.columns;
  const std::int64_t others = inputs_are_rows ? a.columns : a.rows;
  double lost = 0;
  double whole = 0;
  for (std::int64_t o = 0; o < others; ++o) {
    std::vector<double> value;
    std::vector<double> rest;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t r = inputs_are_rows ? i : o;
      const std::int64_t c = inputs_are_rows ? o : i;
      double composed = 0;
      for (std::int64_t k = 0; k < basis.rows; ++k) composed += basis.row(k)[r] * core.row(k)[c];
      value.push_back(a.row(r)[c]);
      rest.push_back(a.row(r)[c] - composed);
    }
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        const double m = moments[static_cast<std::size_t>(std::max(i, j) * n + std::min(i, j))];
        lost += rest[static_cast<std::size_t>(i)] * m * rest[static_cast<std::size_t>(j)];
        whole += value[static_cast<std::size_t>(i)] * m * value[static_cast<std::size_t>(j)];
      }
  }
  return std::sqrt(lost / whole);
}

/// Moments of inputs that mostly lie in a few directions.
std::vector<double> correlated_moments(std::int64_t n) {
  std::vector<double> moments(static_cast<std::size_t>(n * n), 0.0);
  for (int direction = 0; direction < 4; ++direction) {
    const auto v = normal(static_cast<std::size_t>(n), 10 + static_cast<unsigned>(direction));
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j)
        moments[static_cast<std::size_t>(i * n + j)] +=
            static_cast<double>(v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)]);
  }
  for (std::int64_t i = 0; i < n; ++i) moments[static_cast<std::size_t>(i * n + i)] += 0.01;
  return moments;
}

TEST(FitToData, LowersTheErrorOfTheOutput) {
  for (const bool inputs_are_rows : {true, false}) {
    Matrix<double> a(18, 24);
    const auto values = normal(18 * 24, 3);
    std::copy(values.begin(), values.end(), a.data());
    const std::int64_t n = inputs_are_rows ? a.rows : a.columns;
    const std::vector<double> moments = correlated_moments(n);
    const auto plain = exact_part(a);
    Matrix<double> basis(6, 18);
    std::copy_n(plain.basis.data(), 6 * 18, basis.data());
    const Matrix<double> core = project(basis, 6, a);
    const DataFit<double> fit = fit_to_data(a, 6, moments, inputs_are_rows, nullptr);
    const double before = weighted_error(a, basis, core, moments, inputs_are_rows);
    const double after = weighted_error(a, fit.basis, fit.core, moments, inputs_are_rows);
    EXPECT_LT(after, 0.5 * before) << inputs_are_rows;
    EXPECT_NEAR(fit.output_error, after, 0.1 * after + 0.01) << inputs_are_rows;
    EXPECT_GT(fit.kernel_error, relative_error(a, norm_squared(a, nullptr), basis, core, nullptr));
  }
}

TEST(FitToData, IsExactAtFullRank) {
  for (const bool inputs_are_rows : {true, false}) {
    Matrix<double> a(9, 12);
    const auto values = normal(9 * 12, 4);
    std::copy(values.begin(), values.end(), a.data());
    const auto moments = correlated_moments(inputs_are_rows ? 9 : 12);
    const DataFit<double> fit = fit_to_data(a, 9, moments, inputs_are_rows, nullptr);
    EXPECT_LT(fit.kernel_error, 1e-10);
    EXPECT_LT(fit.output_error, 1e-6);
  }
}

TEST(FitToData, IsThePlainOneWithoutInputs) {
  Matrix<double> a(9, 12);
  const auto values = normal(9 * 12, 5);
  std::copy(values.begin(), values.end(), a.data());
  const DataFit<double> fit = fit_to_data(a, 3, std::vector<double>(81, 0.0), true, nullptr);
  const auto plain = exact_part(a);
  double kept = 0;
  double all = 0;
  for (std::size_t i = 0; i < plain.squares.size(); ++i) {
    all += plain.squares[i];
    if (i < 3) kept += plain.squares[i];
  }
  EXPECT_NEAR(fit.kernel_error, std::sqrt(1 - kept / all), 1e-9);
}

}  // namespace
}  // namespace amct::decompose
