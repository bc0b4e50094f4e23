#include "amct/quant/activation_observer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <thread>

#include "amct/base/error.h"
#include "amct/quant/factor.h"
#include "observer_fixture.h"
#include "samples.h"

namespace amct::quant {
namespace {

INSTANTIATE_TEST_SUITE_P(Modes, Observer, kAllModes, mode_name);

TEST_P(Observer, WithoutDataHasNoFactorAndSaysWhy) {
  for (const auto& x : {std::vector<float>{}, std::vector<float>{test::kNan, test::kInf}}) {
    const auto r = of(x);
    EXPECT_EQ(r.outcome, ActivationOutcome::kNoData);
    EXPECT_EQ(r.factor, QuantFactor{});
    EXPECT_EQ(r.nonfinite_count, x.size());
    EXPECT_FALSE(r.reason().empty());
    const auto observer = make();
    observer->observe(x);
    const auto h = observer->histogram(4);
    EXPECT_EQ(h.counts, std::vector<std::uint64_t>(4, 0));
  }
}

TEST_P(Observer, AllZeroGetsScaleOne) {
  for (const std::size_t n : {1U, 5U, 5000U}) {
    std::vector<float> x(n, 0.0F);
    x.back() = -0.0F;
    EXPECT_EQ(of(x, 8, true).factor, (QuantFactor{1.0F, -128}));
    EXPECT_EQ(of(x, 8, false).factor, (QuantFactor{1.0F, 0}));
    EXPECT_EQ(of(x, 16, true).factor, (QuantFactor{1.0F, -32768}));
    EXPECT_TRUE(of(x).ok());
    EXPECT_EQ(of(x).loss, 0.0);
  }
}

TEST_P(Observer, ConstantTensorsAreRepresented) {
  for (const float c : {0.3F, -0.3F, 17.0F, -123.4F, 1e5F}) {
    for (const std::size_t n : {1U, 3U, 9000U}) {
      for (const bool asymmetric : {true, false}) {
        const auto r = of(std::vector<float>(n, c), 8, asymmetric);
        ASSERT_TRUE(r.ok());
        EXPECT_EQ(r.observed_min, c);
        EXPECT_EQ(r.observed_max, c);
        std::vector<float> y(1);
        kernels::fake_quantize_f32({&c, 1}, integer_grid(r.factor, 8), y);
        EXPECT_NEAR(y[0], c, 1e-3F * std::fabs(c))
            << n << asymmetric << " scale " << r.factor.scale;
      }
    }
  }
}

TEST_P(Observer, DenormalValuesGetScaleOne) {
  const auto r = of({1e-40F, -1e-41F, 3e-42F});
  EXPECT_TRUE(r.ok());
  EXPECT_EQ(r.factor, (QuantFactor{1.0F, -128}));
  EXPECT_EQ(of({1e-40F, -1e-41F}, 8, false).factor, (QuantFactor{1.0F, 0}));
}

TEST_P(Observer, HugeValuesAreReportedWithTheNumbers) {
  const float largest = std::numeric_limits<float>::max();
  for (const auto& x : {std::vector<float>{largest, -largest, 0.0F, 1.0F},
                        std::vector<float>{0.0F, 1e20F}, std::vector<float>{0.0F, 4e9F, -4e9F}}) {
    for (const bool asymmetric : {true, false}) {
      const auto r = of(x, 8, asymmetric);
      EXPECT_EQ(r.outcome, ActivationOutcome::kScaleTooLarge);
      EXPECT_GT(r.factor.scale, kMaxScale);
      EXPECT_NE(r.reason().find("8388608"), std::string::npos) << r.reason();
      EXPECT_EQ(r.finite_count, x.size());
    }
  }
  EXPECT_TRUE(of({0.0F, 1e9F}).ok());
}

TEST_P(Observer, NonFiniteValuesAreCountedAndIgnored) {
  const auto clean = test::sample("silu", 20'000);
  auto dirty = clean;
  for (std::size_t i = 0; i < 100; ++i) {
    dirty.insert(dirty.begin() + static_cast<std::ptrdiff_t>(i * 150), i % 3 == 0   ? test::kNan
                                                                       : i % 3 == 1 ? test::kInf
                                                                                    : -test::kInf);
  }
  const auto a = of(clean);
  const auto b = of(dirty);
  EXPECT_EQ(b.nonfinite_count, 100U);
  EXPECT_EQ(b.finite_count, clean.size());
  EXPECT_EQ(a.factor, b.factor);
  EXPECT_EQ(a.observed_min, b.observed_min);
  EXPECT_EQ(a.observed_max, b.observed_max);
}

TEST_P(Observer, RangeIsWidenedToHoldZero) {
  const auto above = of(test::sample("shifted", 4000));
  EXPECT_EQ(above.factor.offset, -128);
  EXPECT_NEAR(above.factor.scale, 2.0F / 255.0F, 0.1F / 255.0F);
  const auto below = of(test::sample("negative", 4000));
  EXPECT_EQ(below.factor.offset, 127);
  EXPECT_LT(below.clip_min, -2.0F);
}

TEST_P(Observer, ZeroPointStaysInsideAndTailsAreNotSwapped) {
  std::vector<float> x;
  for (int i = 0; i <= 10'100; ++i) x.push_back(-1.0F + 0.01F * static_cast<float>(i));
  for (const float percentile : {0.999999F, 0.9999F, 0.99F}) {
    ActivationOptions o;
    if (GetParam() == Mode::kHfmg) {
      o.algorithm = HfmgOptions{};
    } else {
      IfmrOptions ifmr;
      ifmr.max_percentile = ifmr.min_percentile = percentile;
      o.algorithm = ifmr;
    }
    const auto observer =
        make_observer(o, {GetParam() == Mode::kIfmrExact ? std::size_t{1} << 20 : 0});
    observer->observe(x);
    const auto r = observer->finish(8, true);
    EXPECT_GE(r.factor.offset, -128);
    EXPECT_LE(r.factor.offset, -124);
    EXPECT_NEAR(r.clip_max, 100.0F, 3.0F);
    EXPECT_NEAR(r.clip_min, -1.0F, 1.3F);
  }
}

TEST_P(Observer, ThreadsCanShareTheWork) {
  const auto x = test::sample("relu", 200'000, 4);
  const auto whole = make();
  whole->observe(x);
  constexpr std::size_t kParts = 4;
  std::vector<std::unique_ptr<ActivationObserver>> parts;
  for (std::size_t i = 0; i < kParts; ++i) parts.push_back(make());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kParts; ++i) {
      threads.emplace_back([&, i] {
        const std::size_t size = x.size() / kParts;
        parts[i]->observe(std::span(x).subspan(i * size, size));
      });
    }
  }
  for (std::size_t i = 1; i < kParts; ++i) parts[0]->merge(*parts[i]);
  const auto a = whole->finish(8, true);
  const auto b = parts[0]->finish(8, true);
  EXPECT_EQ(a.finite_count, b.finite_count);
  if (GetParam() == Mode::kHfmg) {
    EXPECT_NEAR(a.factor.scale, b.factor.scale, 0.02F * a.factor.scale);
  } else {
    EXPECT_EQ(a.factor, b.factor);
    EXPECT_EQ(a.loss, b.loss);
  }
}

TEST_P(Observer, CountsBeyondTwoToThe24SurviveASmallerRange) {
  const auto observer = make();
  observer->observe(std::vector<float>(20'000, 1.0F));
  observer->observe(std::vector<float>{-2.0F, 4.0F});
  if (GetParam() == Mode::kIfmrExact) return;  // would keep every value
  for (int i = 0; i < 16; ++i) observer->merge(*observer);
  const std::uint64_t before = std::uint64_t{20'002} << 16;
  EXPECT_EQ(observer->finish(8, true).finite_count, before);
  observer->observe(std::vector<float>(1000, 0.5F));
  const auto r = observer->finish(8, true);
  EXPECT_EQ(r.finite_count, before + 1000);
  EXPECT_EQ(r.observed_min, -2.0F);
  EXPECT_EQ(r.observed_max, 4.0F);
  const auto h = observer->histogram(6);  // [-2, -1), ..., [1, 2) holds the big bin, ...
  EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), std::uint64_t{0}), r.finite_count);
  EXPECT_EQ(*std::ranges::max_element(h.counts), std::uint64_t{20'000} << 16);
}

TEST_P(Observer, HistogramForReportsKeepsEveryValue) {
  for (const std::string& kind : test::sample_kinds()) {
    SCOPED_TRACE(kind);
    const auto x = test::sample(kind, 10'000);
    const auto observer = make();
    observer->observe(x);
    for (const int bins : {1, 7, 64, 1000}) {
      const auto h = observer->histogram(bins);
      ASSERT_EQ(h.counts.size(), static_cast<std::size_t>(bins));
      EXPECT_EQ(std::accumulate(h.counts.begin(), h.counts.end(), std::uint64_t{0}), x.size());
      EXPECT_EQ(h.min, *std::ranges::min_element(x));
      EXPECT_EQ(h.max, *std::ranges::max_element(x));
      if (bins != 7 || kind == "grid" || kind == "relu6") continue;
      std::vector<double> expected(7, 0.0);
      for (const float v : x) {
        const double bin = (double{v} - double{h.min}) / (double{h.max} - double{h.min}) * 7.0;
        expected[std::min<std::size_t>(static_cast<std::size_t>(bin), 6)] += 1.0;
      }
      for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_NEAR(static_cast<double>(h.counts[i]), expected[i], 100.0) << i;
      }
    }
  }
  EXPECT_THROW(make()->histogram(0), Error);
}

TEST_P(Observer, BitsAndOtherKindsAreChecked) {
  const auto observer = make();
  EXPECT_THROW(observer->finish(4, true), Error);
  ActivationOptions o;
  if (GetParam() != Mode::kHfmg) o.algorithm = HfmgOptions{};
  EXPECT_THROW(observer->merge(*make_observer(o)), Error);
  o.num_bits = 4;
  EXPECT_THROW(make_observer(o), Error);
}

}  // namespace
}  // namespace amct::quant
