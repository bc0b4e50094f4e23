#include "amct/kernels/quant_loss.h"

#include <algorithm>
#include <cmath>

#include "each_target.h"

namespace amct::kernels {
namespace {

double slow_error(const std::vector<float>& x, double low, double high, double scale) {
  double sum = 0.0;
  for (const float v : x) {
    const double error =
        std::nearbyint(std::clamp(double{v}, low, high) / scale) * scale - double{v};
    sum += error * error;
  }
  return sum;
}

// Without fused multiply-add each error is off by up to half a unit in the last place of x (|x| <
// 4).
double rounding(std::size_t n, double sum) {
  const double unit = 4.0 * std::ldexp(1.0, -24);
  const auto count = static_cast<double>(n);
  return 2.0 * unit * std::sqrt(sum * count) + count * unit * unit;
}

TEST(ClippedSquareError, AgreesWithALoopAtEverySize) {
  test::on_each_target([] {
    for (const std::size_t n : test::kSizes) {
      const auto x = test::normal_values(n, static_cast<unsigned>(n));
      for (const float scale : {0.5F, 0.02F, 1e-4F}) {
        for (const float end : {1.5F, 9.0F}) {
          const double expected = slow_error(x, double{-end}, 2.0, double{scale});
          EXPECT_NEAR(clipped_square_error(x, -end, 2.0F, scale), expected,
                      2e-6 * expected + rounding(n, expected))
              << n;
        }
      }
    }
  });
}

TEST(ClippedSquareError, SurvivesSquaresBeyondFloat) {
  test::on_each_target([] {
    const std::vector<float> x(100, 3e30F);
    EXPECT_NEAR(clipped_square_error(x, -1.0F, 1.0F, 0.01F), 100 * 9e60, 1e56);
  });
}

// The even density of each bin, sampled at very many points.
double slow_histogram_error(const std::vector<double>& counts, const HistogramLevels& h) {
  constexpr int kPoints = 20'000;
  double sum = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (int p = 0; p < kPoints; ++p) {
      const double x = h.first_edge + h.bin_width * (static_cast<double>(i) + (p + 0.5) / kPoints);
      const double level =
          std::clamp(std::nearbyint(x / h.step - h.shift), h.first_level, h.last_level);
      const double error = x - (level + h.shift) * h.step;
      sum += counts[i] * error * error / kPoints;
    }
  }
  return sum;
}

TEST(HistogramSquareError, IsTheIntegralOverEachBin) {
  const std::vector<HistogramLevels> all = {
      {-1.0, 0.1, 0.37, 0.0, -2.0, 2.0}, {-1.0, 0.1, 0.37, 0.5, 0.0, 3.0},
      {-1.0, 0.5, 0.07, 0.0, -9.0, 9.0}, {0.0, 0.125, 0.125, 0.0, 0.0, 255.0},
      {2.0, 0.25, 0.5, 0.0, 0.0, 3.0},   {-3.0, 0.001, 5.0, 0.0, -1.0, 1.0}};
  test::on_each_target([&] {
    for (const HistogramLevels& levels : all) {
      for (const std::size_t n : {0U, 1U, 2U, 5U, 8U, 17U, 23U}) {
        std::vector<double> counts(n);
        for (std::size_t i = 0; i < n; ++i) counts[i] = static_cast<double>(i * i % 11);
        const double expected = slow_histogram_error(counts, levels);
        EXPECT_NEAR(histogram_square_error(counts, levels), expected, 1e-5 * expected + 1e-12) << n;
      }
    }
  });
}

}  // namespace
}  // namespace amct::kernels
