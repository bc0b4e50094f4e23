#include "amct/decompose/subspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "amct/decompose/network.h"
#include "amct/decompose/rank.h"
#include "amct/kernels/linear_algebra.h"
#include "kernels.h"

// The fast way against matrices whose singular values are known.
namespace amct::decompose {
namespace {

using namespace amct::decompose::test;

using Spectrum = std::function<double(std::int64_t i, std::int64_t n)>;

struct Kind {
  const char* name;
  Spectrum value;
};

double power(std::int64_t i, double p) { return std::pow(static_cast<double>(i + 1), -p); }

const Kind kKinds[] = {
    {"flat", [](auto, auto) { return 1.0; }},
    {"pow 0.3", [](auto i, auto) { return power(i, 0.3); }},
    {"pow 0.7", [](auto i, auto) { return power(i, 0.7); }},
    {"pow 1.5", [](auto i, auto) { return power(i, 1.5); }},
    {"pow 4", [](auto i, auto) { return power(i, 4); }},
    {"exponential", [](auto i, auto n) { return std::exp(-12.0 * double(i) / double(n)); }},
    {"beyond float", [](auto i, auto n) { return std::exp(-60.0 * double(i) / double(n)); }},
    {"linear", [](auto i, auto n) { return 1.0 - double(i) / double(n); }},
    {"rank 1", [](auto i, auto) { return i == 0 ? 1.0 : 0.0; }},
    {"rank 20", [](auto i, auto) { return i < 20 ? 1.0 : 0.0; }},
    {"signal in noise", [](auto i, auto n) { return i < n * 22 / 100 ? 1.0 : 0.01; }},
    {"two steps", [](auto i, auto n) { return i < n / 10  ? 1.0
                                              : i < n / 2 ? 0.5
                                                          : 0.1; }},
    {"one giant", [](auto i, auto) { return i == 0 ? 1e3 : power(i, 0.2); }},
};

// Mixes the rows of m: reflections at random vectors.
void reflect_rows(Matrix<double>* m, std::mt19937* random) {
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(m->rows));
  std::vector<double> dots(static_cast<std::size_t>(m->columns));
  for (int round = 0; round < 4; ++round) {
    double size = 0;
    for (double& x : v) {
      x = normal(*random);
      size += x * x;
    }
    std::ranges::fill(dots, 0.0);
    for (std::int64_t i = 0; i < m->rows; ++i) {
      for (std::int64_t j = 0; j < m->columns; ++j) {
        dots[static_cast<std::size_t>(j)] += v[static_cast<std::size_t>(i)] * m->row(i)[j];
      }
    }
    for (std::int64_t i = 0; i < m->rows; ++i) {
      const double factor = 2 * v[static_cast<std::size_t>(i)] / size;
      for (std::int64_t j = 0; j < m->columns; ++j) {
        m->row(i)[j] -= factor * dots[static_cast<std::size_t>(j)];
      }
    }
  }
}

template <typename T>
Matrix<double> transposed(const Matrix<T>& m) {
  Matrix<double> out(m.columns, m.rows);
  for (std::int64_t i = 0; i < m.rows; ++i) {
    for (std::int64_t j = 0; j < m.columns; ++j) out.row(j)[i] = static_cast<double>(m.row(i)[j]);
  }
  return out;
}

template <typename T>
struct Known {
  Matrix<T> matrix;
  std::vector<double> squares;
  double norm_squared = 0;
};

template <typename T>
Known<T> known(std::int64_t rows, std::int64_t columns, const Spectrum& value) {
  std::mt19937 random(11);
  Matrix<double> m(rows, columns);
  std::fill_n(m.data(), rows * columns, 0.0);
  Known<T> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    m.row(i)[i] = value(i, rows);
    out.squares.push_back(m.row(i)[i] * m.row(i)[i]);
  }
  reflect_rows(&m, &random);
  m = transposed(m);
  reflect_rows(&m, &random);
  m = transposed(m);
  out.matrix = Matrix<T>(rows, columns);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    out.matrix.data()[i] = static_cast<T>(m.data()[i]);
    const auto x = static_cast<double>(out.matrix.data()[i]);
    out.norm_squared += x * x;
  }
  return out;
}

double sum_from(const std::vector<double>& x, std::int64_t first) {
  return std::accumulate(x.begin() + first, x.end(), 0.0);
}

template <typename T>
void check_near_optimal(double floor) {
  const kernels::BlasThreads one(1);
  for (const Kind& kind : kKinds) {
    for (const auto& [rows, columns, k] :
         {std::tuple{400, 400, 80}, std::tuple{400, 560, 100}, std::tuple{390, 400, 16}}) {
      const Known<T> a = known<T>(rows, columns, kind.value);
      ASSERT_TRUE(prefers_subspace(rows, columns, k));
      const auto found = iterate_subspace(a.matrix, a.norm_squared, k, nullptr);
      if (!found) continue;  // the exact way follows
      const LeadingPart<T>& part = found->part;
      ASSERT_EQ(part.basis.rows, k);
      ASSERT_EQ(part.core.rows, k);
      const double size = std::sqrt(a.norm_squared);
      const double least = std::sqrt(sum_from(a.squares, k)) / size;
      const double error = relative_error(a.matrix, a.norm_squared, part.basis, part.core, nullptr);
      EXPECT_LE(error, 1.01 * least + floor) << kind.name << " " << rows << " " << k;
      double worst = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          double dot = i == j ? -1 : 0;
          for (std::int64_t c = 0; c < rows; ++c) {
            dot += static_cast<double>(part.basis.row(i)[c]) *
                   static_cast<double>(part.basis.row(j)[c]);
          }
          worst = std::max(worst, std::fabs(dot));
        }
      }
      EXPECT_LE(worst, 2 * floor) << kind.name;
    }
  }
}

TEST(Subspace, IsWithinAPercentOfTheLeastErrorInFloat) { check_near_optimal<float>(5e-6); }

TEST(Subspace, IsWithinAPercentOfTheLeastErrorInDouble) { check_near_optimal<double>(1e-13); }

// Where nearly nothing is left, float cannot tell whether it settled: the exact way follows.
TEST(Subspace, SettlesForSpectraWithATail) {
  const kernels::BlasThreads one(1);
  for (const char* name : {"pow 0.3", "pow 0.7", "exponential", "linear"}) {
    const Kind& kind =
        *std::ranges::find_if(kKinds, [&](const Kind& k) { return std::string(k.name) == name; });
    const Known<float> a = known<float>(400, 480, kind.value);
    EXPECT_TRUE(iterate_subspace(a.matrix, a.norm_squared, 80, nullptr)) << name;
  }
}

TEST(Subspace, EstimatesTheWholeSpectrum) {
  const kernels::BlasThreads one(1);
  for (const Kind& kind : kKinds) {
    const Known<float> a = known<float>(420, 480, kind.value);
    const auto found = iterate_subspace(a.matrix, a.norm_squared, 84, nullptr);
    if (!found) continue;
    const std::vector<double> squares = estimate_spectrum(a.matrix, a.norm_squared, *found);
    ASSERT_EQ(squares.size(), a.squares.size()) << kind.name;
    EXPECT_TRUE(std::ranges::is_sorted(squares, std::greater{})) << kind.name;
    EXPECT_NEAR(sum_from(squares, 0), a.norm_squared, 1e-5 * a.norm_squared) << kind.name;
    for (const std::int64_t from : {84, 150, 250}) {
      EXPECT_NEAR(sum_from(squares, from), sum_from(a.squares, from),
                  0.03 * sum_from(a.squares, 84) + 1e-6 * a.norm_squared)
          << kind.name << " " << from;
    }
  }
}

// Kernel whose unfolded matrix (mode SCFK) is the given one.
std::vector<float> kernel_of(const Matrix<float>& m, std::int64_t channels, std::int64_t kernel) {
  std::vector<float> out(static_cast<std::size_t>(m.rows * m.columns));
  std::size_t at = 0;
  for (std::int64_t o = 0; o < channels; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t h = 0; h < kernel; ++h) {
        for (std::int64_t w = 0; w < kernel; ++w) out[at++] = m.row(c * kernel + h)[o * kernel + w];
      }
    }
  }
  return out;
}

TEST(Subspace, LeadsToTheRankOfTheWholeSpectrum) {
  // 256 channels: the limits are 153 and 192 of 768.
  const ConvShape shape{256, 256, 3, 3};
  std::vector<Kind> kinds(std::begin(kKinds), std::end(kKinds));
  for (const std::int64_t signal : {100, 160, 175, 185, 230, 300}) {
    kinds.push_back(
        {"signal", [=](auto i, auto) { return i < signal ? 1.0 + 0.002 * double(i) : 0.02; }});
  }
  for (const Kind& kind : kinds) {
    const Known<float> a = known<float>(768, 768, kind.value);
    std::vector<double> values;
    for (const double s : a.squares) values.push_back(std::sqrt(s));
    const Layer layer = layer_of("conv", shape, kernel_of(a.matrix, 256, 3));
    const auto result = std::move(decompose_network({&layer, 1}, {})[0]);
    EXPECT_EQ(result.rank, choose_rank(values, shape)) << kind.name;
    EXPECT_LE(result.relative_error,
              1.01 * tail_norm(values, result.rank) / std::sqrt(a.norm_squared) + 5e-6)
        << kind.name;
  }
}

TEST(Subspace, SharesEnergyAndRankRulesWithTheExactWay) {
  const ConvShape shape{256, 256, 3, 3};
  const Known<float> a = known<float>(768, 768, [](auto i, auto) { return power(i, 0.7); });
  const Layer layer = layer_of("conv", shape, kernel_of(a.matrix, 256, 3));
  for (const double share : {0.5, 0.9, 0.95, 0.999}) {
    Options options;
    options.rule = RankRule::kEnergy;
    options.value = share;
    options.min_speedup = 0;
    const auto result = std::move(decompose_network({&layer, 1}, options)[0]);
    EXPECT_LE(result.relative_error * result.relative_error, 1 - share + 1e-5);
    std::int64_t least = 0;
    while (sum_from(a.squares, least) > (1 - share) * a.norm_squared) ++least;
    EXPECT_GE(result.rank, least - 1);
    EXPECT_LE(result.rank, least + 2 + least / 50);
  }
  for (const double rank : {3.0, 100.0, 300.0, 700.0}) {
    Options options;
    options.rule = RankRule::kRank;
    options.value = rank;
    options.min_speedup = 0;
    const auto result = std::move(decompose_network({&layer, 1}, options)[0]);
    EXPECT_LE(result.relative_error * result.relative_error,
              1.02 * sum_from(a.squares, static_cast<std::int64_t>(rank)) / a.norm_squared + 1e-6);
  }
}

}  // namespace
}  // namespace amct::decompose
