#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "amct/decompose/network.h"
#include "golden_data.h"
#include "kernels.h"

// What the two parts of a kernel promise: shapes, composition, norms.
namespace amct::decompose {
namespace {

using namespace amct::decompose::test;
using nlohmann::json;

Options rank_of(double value) {
  Options o;
  o.rule = RankRule::kRank;
  o.value = value;
  o.min_speedup = 0;
  return o;
}

LayerResult only(const Layer& layer, const Options& options) {
  return std::move(decompose_network({&layer, 1}, options).at(0));
}

// Largest deviation of the rows of an [r, n] factor (`last`: [Cout, r, k]) from being orthonormal.
double orthonormality_error(const std::vector<double>& x, const std::array<std::int64_t, 4>& shape,
                            bool last) {
  const std::int64_t rank = last ? shape[1] : shape[0];
  const std::int64_t kernel = shape[2] * shape[3];
  const std::int64_t channels = last ? shape[0] : shape[1];
  const auto value = [&](std::int64_t r, std::int64_t c, std::int64_t k) {
    return x[static_cast<std::size_t>(((last ? c * rank + r : r * channels + c)) * kernel + k)];
  };
  double worst = 0;
  for (std::int64_t i = 0; i < rank; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      double dot = i == j ? -1 : 0;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t k = 0; k < kernel; ++k) dot += value(i, c, k) * value(j, c, k);
      }
      worst = std::max(worst, std::fabs(dot));
    }
  }
  return worst;
}

TEST(Factors, HaveTheInvariantsOfTheOriginal) {
  std::size_t checked = 0;
  for (const json& c : amct::test::load_cases("decompose_weights")) {
    const std::string id = c.at("id");
    const std::vector<double> kernel = amct::test::load_npy(c.at("weight"));
    const auto& dims = c.at("shape");
    const ConvShape shape{dims[0], dims[1], dims[2], dims[3]};
    const bool is_double = c.at("dtype") == "float64";
    Layer layer = is_double ? layer_of(id, shape, kernel)
                            : layer_of(id, shape, std::vector<float>(kernel.begin(), kernel.end()));
    Options options;
    options.min_speedup = 0;
    const LayerResult result = only(layer, options);
    if (c.at("mode") == "UNCHANGE" || c.at("kind") == "zero") {
      EXPECT_EQ(result.mode, Mode::kUnchange) << id;
      EXPECT_FALSE(result.reason.empty()) << id;
      continue;
    }
    ++checked;
    EXPECT_EQ(to_string(result.mode), c.at("mode").get<std::string>()) << id;
    ASSERT_TRUE(result.factors) << id << result.reason;
    EXPECT_EQ(result.rank, c.at("rank")) << id;
    EXPECT_EQ(json(result.factors->first_shape), c.at("first_shape")) << id;
    EXPECT_EQ(json(result.factors->last_shape), c.at("last_shape")) << id;
    const double tolerance = is_double ? 1e-10 : 2e-6;
    const double size = c.at("weight_norm");
    const std::vector<double> composed = compose(*result.factors, shape);
    EXPECT_NEAR(distance(composed, kernel), c.at("reconstruction_abs_error"), tolerance * size)
        << id;
    EXPECT_NEAR(result.relative_error * size, c.at("reconstruction_abs_error"), tolerance * size)
        << id;
    const std::vector<double> first = values_of(result.factors->first);
    const std::vector<double> last = values_of(result.factors->last);
    EXPECT_NEAR(norm(first), c.at("first_norm"), tolerance * norm(first)) << id;
    EXPECT_NEAR(norm(last), c.at("last_norm"), tolerance * norm(last)) << id;
    const bool basis_is_last = c.at("orthonormal_factor") == "last";
    EXPECT_LE(orthonormality_error(
                  basis_is_last ? last : first,
                  basis_is_last ? result.factors->last_shape : result.factors->first_shape,
                  basis_is_last),
              is_double ? 1e-12 : 1e-6)
        << id;
    double probe = 0;
    double probe_size = 0;
    for (std::size_t i = 0; i < composed.size(); ++i) {
      const double wave = std::sin(0.37 * static_cast<double>(i) + 0.1);
      probe += composed[i] * wave;
      probe_size += std::fabs(composed[i] * wave);
    }
    EXPECT_NEAR(probe, c.at("composed_probe"), tolerance * probe_size) << id;
  }
  EXPECT_GE(checked, 11U);
}

const ConvShape kEachMode[] = {
    {64, 64, 3, 3}, {72, 64, 3, 5}, {64, 64, 5, 3}, {64, 72, 3, 3},
    {64, 80, 3, 5}, {64, 80, 5, 3}, {16, 3, 7, 7},  {3, 16, 9, 7},
};

template <typename T>
void check_full_rank(double tolerance) {
  std::vector<bool> seen(5);
  for (const ConvShape& shape : kEachMode) {
    const std::vector<T> kernel = he_kernel<T>(shape, 3);
    const LayerResult result = only(layer_of("conv", shape, kernel), rank_of(1e9));
    ASSERT_TRUE(result.factors) << result.reason;
    EXPECT_EQ(result.rank, result.full_rank);
    EXPECT_TRUE(std::holds_alternative<std::vector<T>>(result.factors->first));
    EXPECT_LE(distance(compose(*result.factors, shape), as_double(kernel)),
              tolerance * norm(as_double(kernel)))
        << to_string(result.mode);
    seen[static_cast<std::size_t>(result.mode)] = true;
  }
  EXPECT_EQ(std::ranges::count(seen, true), 4);
}

TEST(Factors, ComposeToTheKernelAtFullRankInEveryMode) {
  check_full_rank<float>(2e-6);
  check_full_rank<double>(1e-14);
}

TEST(Factors, HaveTheLeastErrorThereIsAtTheirRank) {
  for (const ConvShape& shape : {ConvShape{64, 16, 7, 7}, ConvShape{16, 20, 7, 9}}) {
    const std::vector<double> kernel = he_kernel<double>(shape, 5);
    const auto reference =
        jacobi_singular_values(matrix_of(kernel, shape, choose_mode(shape).mode));
    for (const double rank : {1.0, 10.0, 57.0, 111.0}) {
      const double least = tail_norm(reference, static_cast<std::int64_t>(rank)) / norm(kernel);
      const LayerResult exact = only(layer_of("conv", shape, kernel), rank_of(rank));
      EXPECT_NEAR(exact.relative_error, least, 1e-9) << rank;
      EXPECT_NEAR(distance(compose(*exact.factors, shape), kernel) / norm(kernel), least, 1e-9);
      const std::vector<float> rounded(kernel.begin(), kernel.end());
      const LayerResult single = only(layer_of("conv", shape, rounded), rank_of(rank));
      EXPECT_NEAR(single.relative_error, least, 1e-6) << rank;
    }
  }
}

TEST(Factors, OfARankDeficientKernelAreExactFromItsRankOn) {
  const ConvShape shape{64, 64, 3, 3};
  // kernel[o, c, h, w] = sum over 5 of a[c, h] * b[o, w]: rank 5 as the mode unfolds it.
  std::vector<float> kernel(64 * 64 * 9);
  const std::vector<double> a = he_kernel<double>({64, 5, 3, 1}, 7);
  const std::vector<double> b = he_kernel<double>({64, 5, 3, 1}, 8);
  for (std::size_t o = 0, i = 0; o < 64; ++o) {
    for (std::size_t c = 0; c < 64; ++c) {
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t w = 0; w < 3; ++w, ++i) {
          double sum = 0;
          for (std::size_t k = 0; k < 5; ++k)
            sum += a[(c * 5 + k) * 3 + h] * b[(o * 5 + k) * 3 + w];
          kernel[i] = static_cast<float>(sum);
        }
      }
    }
  }
  const double size = norm(as_double(kernel));
  for (const double rank : {4.0, 5.0, 32.0, 192.0}) {
    const LayerResult result = only(layer_of("conv", shape, kernel), rank_of(rank));
    const double error = distance(compose(*result.factors, shape), as_double(kernel)) / size;
    EXPECT_NEAR(result.relative_error, error, 1e-6) << rank;
    EXPECT_EQ(error > 0.1, rank < 5) << error;
    EXPECT_EQ(error < 1e-6, rank >= 5) << error;
  }
}

TEST(Factors, StayFiniteAtTheEndsOfTheType) {
  const ConvShape shape{64, 64, 3, 3};
  const std::vector<float> kernel = he_kernel<float>(shape, 9);
  const float largest = *std::ranges::max_element(kernel);
  for (const float size : {3e38F, 1e-30F, 1e-37F}) {
    std::vector<float> scaled = kernel;
    for (float& v : scaled) v = v / largest * size;
    const LayerResult result = only(layer_of("conv", shape, scaled), rank_of(160));
    ASSERT_TRUE(result.factors);
    EXPECT_NEAR(
        distance(compose(*result.factors, shape), as_double(scaled)) / norm(as_double(scaled)),
        result.relative_error, 1e-5)
        << size;
    EXPECT_LT(result.relative_error, 0.1);
    for (const Weights& w : {result.factors->first, result.factors->last}) {
      for (const double v : values_of(w)) ASSERT_TRUE(std::isfinite(v)) << size;
    }
  }
}

TEST(Factors, AreSpreadSoThatFloat16HoldsThem) {
  const ConvShape shape{64, 64, 3, 3};
  std::vector<float> kernel = he_kernel<float>(shape, 10);
  for (float& v : kernel) v = 60000.0F + v;  // one component far above what float16 holds
  kernel[5] = -65504.0F;
  Layer layer = layer_of("conv", shape, kernel);
  layer.largest_value = 65504;
  const LayerResult result = only(layer, rank_of(32));
  ASSERT_TRUE(result.factors);
  for (const Weights& w : {result.factors->first, result.factors->last}) {
    double found = 0;
    for (const double v : values_of(w)) found = std::max(found, std::fabs(v));
    EXPECT_LE(found, 65504);
    EXPECT_GT(found, 0.1);
  }
  EXPECT_LT(distance(compose(*result.factors, shape), as_double(kernel)) / norm(as_double(kernel)),
            1e-4);
}

}  // namespace
}  // namespace amct::decompose
