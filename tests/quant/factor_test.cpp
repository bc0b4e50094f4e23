#include "amct/quant/factor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "samples.h"

namespace amct::quant {
namespace {

TEST(FactorOfRange, MatchesTheWorkedExampleOfTheManual) {
  const QuantFactor f = factor_of_range(0.0F, 1.0F, 8, true);
  EXPECT_FLOAT_EQ(f.scale, 0.00392156886F);
  EXPECT_EQ(f.offset, -128);
  EXPECT_FLOAT_EQ(clip_max_of(f, 8), 1.0F);
  EXPECT_EQ(clip_min_of(f, 8), 0.0F);
}

TEST(FactorOfRange, SymmetricDividesTheLargerEnd) {
  EXPECT_FLOAT_EQ(factor_of_range(-1.0F, 2.54F, 8, false).scale, 0.02F);
  EXPECT_FLOAT_EQ(factor_of_range(-2.56F, 2.54F, 8, false).scale, 0.02F);
  EXPECT_FLOAT_EQ(factor_of_range(-2.54F, 2.54F, 8, false).scale, 0.02F);  // equal ends: 127
  EXPECT_FLOAT_EQ(factor_of_range(-1.0F, 327.67F, 16, false).scale, 0.01F);
  EXPECT_FLOAT_EQ(factor_of_range(-327.68F, 1.0F, 16, false).scale, 0.01F);
  EXPECT_EQ(factor_of_range(-5.0F, 1.0F, 8, false).offset, 0);
}

TEST(FactorOfRange, AlwaysHoldsZero) {
  const QuantFactor above = factor_of_range(1.0F, 2.0F, 8, true);
  EXPECT_FLOAT_EQ(above.scale, 2.0F / 255.0F);
  EXPECT_EQ(above.offset, -128);
  const QuantFactor below = factor_of_range(-2.0F, -1.0F, 8, true);
  EXPECT_FLOAT_EQ(below.scale, 2.0F / 255.0F);
  EXPECT_EQ(below.offset, 127);
}

TEST(FactorOfRange, AsymmetricTailsAreNotSwapped) {
  const QuantFactor f = factor_of_range(-1.0F, 100.0F, 8, true);
  EXPECT_FLOAT_EQ(f.scale, 101.0F / 255.0F);
  EXPECT_EQ(f.offset, 3 - 128);
  EXPECT_NEAR(clip_max_of(f, 8), 100.0F, f.scale);
  EXPECT_NEAR(clip_min_of(f, 8), -1.0F, f.scale);
}

TEST(FactorOfRange, RepresentsBothEndsWithinHalfAStepAtEveryWidth) {
  for (const int bits : {8, 16}) {
    for (const float low : {0.0F, -1e-3F, -0.7F, -12.0F, -1e6F}) {
      for (const float high : {0.0F, 1e-3F, 0.9F, 15.0F, 2e6F}) {
        const QuantFactor f = factor_of_range(low, high, bits, true);
        ASSERT_TRUE(is_legal(f, bits));
        if (high - low < 1e-2F) continue;
        EXPECT_LE(std::fabs(clip_min_of(f, bits) - low), 0.5001F * f.scale + 1e-6F * -low);
        EXPECT_LE(std::fabs(clip_max_of(f, bits) - high), 0.5001F * f.scale + 1e-6F * high);
      }
    }
  }
}

TEST(FactorOfRange, TinyRangesGetScaleOne) {
  EXPECT_EQ(factor_of_range(0.0F, 0.0F, 8, true), (QuantFactor{1.0F, -128}));
  EXPECT_EQ(factor_of_range(0.0F, 0.0F, 8, false), (QuantFactor{1.0F, 0}));
  EXPECT_EQ(factor_of_range(0.0F, 0.0F, 16, true), (QuantFactor{1.0F, -32768}));
  EXPECT_EQ(factor_of_range(-1e-42F, 1e-42F, 8, true), (QuantFactor{1.0F, -128}));
  EXPECT_EQ(factor_of_range(-1e-6F, 1e-6F, 8, false), (QuantFactor{1.0F, 0}));
  EXPECT_LT(factor_of_range(-2e-5F, 1e-5F, 8, false).scale, 1.0F);
}

TEST(IsLegal, FollowsTheDeviceLimits) {
  EXPECT_TRUE(is_legal({kMinScale, 0}, 8));
  EXPECT_TRUE(is_legal({kMaxScale, 127}, 8));
  EXPECT_FALSE(is_legal({std::nextafter(kMinScale, 0.0F), 0}, 8));
  EXPECT_FALSE(is_legal({std::nextafter(kMaxScale, test::kInf), 0}, 8));
  EXPECT_FALSE(is_legal({test::kNan, 0}, 8));
  EXPECT_FALSE(is_legal({test::kInf, 0}, 8));
  EXPECT_FALSE(is_legal({-1.0F, 0}, 8));
  EXPECT_FALSE(is_legal({1.0F, 128}, 8));
  EXPECT_FALSE(is_legal({1.0F, -129}, 8));
  EXPECT_TRUE(is_legal({1.0F, 128}, 16));
  const float largest = std::numeric_limits<float>::max();
  EXPECT_FALSE(is_legal(factor_of_range(-largest, largest, 8, true), 8));
  EXPECT_FALSE(is_legal(factor_of_range(-largest, largest, 8, false), 8));
}

}  // namespace
}  // namespace amct::quant
