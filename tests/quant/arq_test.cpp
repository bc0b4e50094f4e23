#include "amct/quant/arq.h"

#include <gtest/gtest.h>

#include <cmath>

#include "amct/base/error.h"
#include "amct/quant/factor.h"
#include "samples.h"

namespace amct::quant {
namespace {

// Output channel of every element, from the plain meaning of the layout.
std::vector<std::size_t> channels_of(const WeightLayout& l) {
  std::vector<std::size_t> c;
  for (std::size_t i = 0; i < l.elements(); ++i) {
    const std::size_t group = i / (l.before * l.channels * l.inner);
    c.push_back(group * l.channels + i / l.inner % l.channels);
  }
  return c;
}

const std::vector<WeightLayout> kLayouts = {{1, 1, 7, 27}, {1, 1, 1, 50}, {1, 12, 5, 9},
                                            {2, 6, 5, 9},  {1, 13, 6, 1}, {3, 1, 1, 1},
                                            {1, 1, 4, 1}};

TEST(Arq, AgreesWithALoopForEveryLayout) {
  for (const WeightLayout& layout : kLayouts) {
    for (const int bits : {6, 7, 8}) {
      const auto w = test::sample("normal", layout.elements(), 3);
      const auto channel = channels_of(layout);
      std::vector<double> low(layout.output_channels(), 0.0);
      std::vector<double> high(layout.output_channels(), 0.0);
      for (std::size_t i = 0; i < w.size(); ++i) {
        low[channel[i]] = std::fmin(low[channel[i]], double{w[i]});
        high[channel[i]] = std::fmax(high[channel[i]], double{w[i]});
      }
      const auto scales = arq_scales(w, layout, bits);
      ASSERT_EQ(scales.size(), layout.output_channels());
      const double half = std::ldexp(1.0, bits - 1);
      for (std::size_t c = 0; c < scales.size(); ++c) {
        const double expected = -low[c] > high[c] ? -low[c] / half : high[c] / (half - 1);
        EXPECT_FLOAT_EQ(scales[c], static_cast<float>(expected));
      }
      std::vector<std::int8_t> q(w.size());
      quantize_weight(w, layout, scales, bits, q);
      for (std::size_t i = 0; i < w.size(); ++i) {
        const float level = std::nearbyint(w[i] / scales[channel[i]]);
        ASSERT_EQ(q[i], std::clamp(level, static_cast<float>(-half), static_cast<float>(half - 1)));
      }
    }
  }
}

TEST(Arq, ZeroAndTinyChannelsGetScaleOneAndStayZero) {
  std::vector<float> w(30, 0.0F);
  for (std::size_t i = 10; i < 20; ++i) w[i] = 0.5F;
  for (std::size_t i = 20; i < 30; ++i) w[i] = 1e-6F * (i % 2 == 0 ? 1.0F : -1.0F);
  const WeightLayout layout{1, 1, 3, 10};
  const auto scales = arq_scales(w, layout, 8);
  EXPECT_EQ(scales[0], 1.0F);
  EXPECT_FLOAT_EQ(scales[1], 0.5F / 127.0F);
  EXPECT_EQ(scales[2], 1.0F);
  std::vector<std::int8_t> q(w.size());
  quantize_weight(w, layout, scales, 8, q);
  for (std::size_t i = 0; i < q.size(); ++i) EXPECT_EQ(q[i], i / 10 == 1 ? 127 : 0);
}

TEST(Arq, AllZeroWeightWorks) {
  const std::vector<float> w(8, 0.0F);
  EXPECT_EQ(arq_scales(w, {1, 1, 1, 8}, 8), std::vector<float>{1.0F});
  EXPECT_EQ(arq_factors_with_offset(w, {1, 1, 1, 8}, 8), (std::vector<QuantFactor>{{1.0F, -128}}));
  EXPECT_TRUE(arq_scales({}, {1, 1, 0, 8}, 8).empty());
}

std::string error_of(std::vector<float> w, WeightLayout layout, int bits, ErrorCode code) {
  try {
    arq_scales(w, layout, bits);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  return "no error";
}

TEST(Arq, RefusesWhatCannotBeQuantized) {
  EXPECT_NE(error_of({1, test::kNan, test::kInf}, {1, 1, 1, 3}, 8, ErrorCode::kInvalidModel)
                .find("2 NaN or infinite"),
            std::string::npos);
  EXPECT_NE(
      error_of({1, 2, 3}, {1, 1, 2, 2}, 8, ErrorCode::kInvalidModel).find("3 values, expected 4"),
      std::string::npos);
  EXPECT_NE(error_of({1, 2, 3}, {1, 1, 1, 3}, 9, ErrorCode::kInvalidConfig).find("num_bits"),
            std::string::npos);
  EXPECT_NE(error_of({1, 3e10F}, {1, 1, 2, 1}, 8, ErrorCode::kUnsupported).find("channel 1"),
            std::string::npos);
}

}  // namespace
}  // namespace amct::quant
