#include "amct/decompose/rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "amct/base/error.h"
#include "golden_data.h"

namespace amct::decompose {
namespace {

using nlohmann::json;

std::vector<double> singular_values_of(const json& c) {
  if (c.contains("singular_values_file")) return test::load_npy(c.at("singular_values_file"));
  return c.at("singular_values").get<std::vector<double>>();
}

ConvShape shape_of(const json& c) {
  ConvShape s;
  s.out_channels = c.at("out_channels");
  s.in_channels = c.at("in_channels");
  s.kernel_h = c.at("kernel_h");
  s.kernel_w = c.at("kernel_w");
  return s;
}

std::int64_t evbmf_of(std::vector<double> values, Unfolded size) {
  for (double& v : values) v *= v;
  std::ranges::sort(values, std::greater{});
  return evbmf_rank(values, size);
}

TEST(Rank, IsThatOfTheOriginal) {
  std::size_t refused = 0;
  for (const json& c : test::load_cases("decompose_rank")) {
    const std::string id = c.at("id");
    const std::string why = c.value("why", "");
    const ConvShape shape = shape_of(c);
    const std::vector<double> values = singular_values_of(c);
    if (why == "nan_accepted" || why == "length_mismatch") {
      EXPECT_THROW(choose_rank(values, shape), Error) << id;
      ++refused;
      continue;
    }
    EXPECT_EQ(unfolded_size(shape).rows, c.at("L")) << id;
    EXPECT_EQ(unfolded_size(shape).columns, c.at("M")) << id;
    const bool exact = why.empty();
    const std::int64_t rank = choose_rank(values, shape);
    EXPECT_EQ(rank, c.at(exact ? "rank" : "rank_scale_free")) << id;
    // Zeros make the original's objective infinite everywhere, and its minimiser ends at the upper
    // bound; ours has a minimum, the limit of that for values that go to zero.
    if (c.at("kind").get<std::string>().starts_with("zeros")) continue;
    const std::int64_t evbmf = evbmf_of(values, unfolded_size(shape));
    const std::int64_t wanted = c.at(exact ? "evbmf_rank" : "evbmf_rank_scale_free");
    EXPECT_LE(std::abs(evbmf - wanted), 1)
        << id << " " << c.at("kind") << ": " << evbmf << " instead of " << wanted;
  }
  EXPECT_EQ(refused, 3U);
}

TEST(Rank, ZeroIsTheLimitOfSmallSingularValues) {
  std::vector<double> values = test::load_npy("decompose_rank/s043.npy");
  const std::int64_t with_zeros = evbmf_of(values, {192, 192});
  EXPECT_EQ(*std::ranges::min_element(values), 0);
  for (double& v : values) v = std::max(v, 1e-12);
  EXPECT_EQ(evbmf_of(values, {192, 192}), with_zeros);
}

TEST(Rank, DoesNotDependOnTheScaleOfTheWeights) {
  for (const json& c : test::load_cases("decompose_rank")) {
    if (c.value("why", "") == "nan_accepted" || c.value("why", "") == "length_mismatch") continue;
    const ConvShape shape = shape_of(c);
    const std::vector<double> values = singular_values_of(c);
    const std::int64_t evbmf = evbmf_of(values, unfolded_size(shape));
    const std::int64_t rank = choose_rank(values, shape);
    // Powers of two, so that no rounding differs; the larger ones would overflow when squared.
    for (const int exponent : {-40, 40}) {
      std::vector<double> scaled = values;
      for (double& v : scaled) v = std::ldexp(v, exponent);
      EXPECT_EQ(evbmf_of(scaled, unfolded_size(shape)), evbmf) << c.at("id") << " " << exponent;
    }
    for (const int exponent : {-900, 900}) {
      std::vector<double> scaled = values;
      for (double& v : scaled) v = std::ldexp(v, exponent);
      EXPECT_EQ(choose_rank(scaled, shape), rank) << c.at("id") << " " << exponent;
    }
  }
}

TEST(Rank, RefusesWhatIsNoSpectrum) {
  const ConvShape shape{64, 64, 3, 3};
  std::vector<double> values(192, 1.0);
  EXPECT_EQ(choose_rank(values, shape), 32);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    values[100] = bad;
    EXPECT_THROW(choose_rank(values, shape), Error) << bad;
  }
  EXPECT_THROW(choose_rank({}, shape), Error);
}

TEST(Rank, OrderOfTheSingularValuesDoesNotMatter) {
  const std::vector<double> values = test::load_npy("decompose_rank/s022.npy");
  const ConvShape shape{320, 256, 3, 3};
  std::vector<double> reversed(values.rbegin(), values.rend());
  EXPECT_EQ(choose_rank(values, shape), 176);
  EXPECT_EQ(choose_rank(reversed, shape), 176);
}

TEST(Rank, RoundingTakesTheNextMultipleWhenTheNearestIsTooFarBelow) {
  // 64 channels of 3 x 3: between 192 / 7 = 27 and 192 / 6 = 32.
  EXPECT_EQ(finish_rank(0, {64, 64, 3, 3}), 32);
  EXPECT_EQ(finish_rank(1000, {64, 64, 3, 3}), 32);
  // 256 channels: 768 / 5 = 153 and 768 / 4 = 192.
  EXPECT_EQ(finish_rank(0, {256, 256, 3, 3}), 160);
  EXPECT_EQ(finish_rank(167, {256, 256, 3, 3}), 160);
  EXPECT_EQ(finish_rank(168, {256, 256, 3, 3}), 176);
  EXPECT_EQ(finish_rank(1000, {256, 256, 3, 3}), 192);
  // 23 would be rounded to 16, less than nine tenths of it.
  EXPECT_EQ(finish_rank(23, {20, 20, 7, 7}), 32);
  // Never above the full rank.
  EXPECT_EQ(finish_rank(0, {2, 64, 8, 8}), 16);
}

}  // namespace
}  // namespace amct::decompose
