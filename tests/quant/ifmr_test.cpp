#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "amct/base/error.h"
#include "amct/quant/activation_observer.h"
#include "amct/quant/factor.h"
#include "amct/quant/ifmr_search.h"
#include "samples.h"

namespace amct::quant {
namespace {

constexpr std::size_t kAlways = 0;                    // histogram from the first value on
constexpr std::size_t kNever = std::size_t{1} << 30;  // exact

ActivationResult run(const std::vector<float>& x, std::size_t exact_values, int bits,
                     bool asymmetric, const IfmrOptions& ifmr = {}) {
  ActivationOptions o;
  o.algorithm = ifmr;
  const auto observer = make_observer(o, {exact_values});
  observer->observe(x);
  return observer->finish(bits, asymmetric);
}

// The search as its definition reads, in double.
struct Reference {
  std::vector<float> x;
  int bits = 8;
  bool asymmetric = true;
  double low = 0.0;
  double high = 0.0;

  Reference(std::vector<float> values, int num_bits, bool with_offset, double max_percentile,
            double min_percentile)
      : x(std::move(values)), bits(num_bits), asymmetric(with_offset) {
    std::vector<float> sorted = x;
    std::ranges::sort(sorted);
    const auto rank = [&](double p) {
      const double n = static_cast<double>(sorted.size());
      return std::max<std::size_t>(1, static_cast<std::size_t>(n - std::floor(p * n)));
    };
    high = std::max(0.0, double{sorted[sorted.size() - rank(max_percentile)]});
    low = std::min(0.0, double{sorted[rank(min_percentile) - 1]});
  }
  double scale(double r) const {
    if (asymmetric) return (r * high - low) / (std::ldexp(1.0, bits) - 1);
    const double half = std::ldexp(1.0, bits - 1);
    return -low > high ? -r * low / half : r * high / (half - 1);
  }
  // Clip ends and scale are float, as they are used; everything else is double.
  double loss(double r) const {
    const double s = static_cast<float>(scale(r));
    const double top = static_cast<float>(asymmetric ? r * high : r * std::max(high, -low));
    const double bottom = asymmetric ? low : -top;
    double sum = 0.0;
    for (const float v : x) {
      const double error = std::nearbyint(std::clamp(double{v}, bottom, top) / s) * s - double{v};
      sum += error * error;
    }
    return sum / static_cast<double>(x.size());
  }
  // Loss of the ratio 0.7, 0.71 ... 1.3 that leads to this scale; infinite when there is none.
  double loss_of_scale(float s) const {
    for (int i = 0; i <= 60; ++i) {
      const double r = 0.7 + 0.01 * i;
      if (std::fabs(scale(r) - double{s}) <= 2e-7 * scale(r)) return loss(r);
    }
    return INFINITY;
  }
  double least() const {
    double best = INFINITY;
    for (int i = 0; i <= 60; ++i) best = std::fmin(best, loss(0.7 + 0.01 * i));
    return best;
  }
};

TEST(Ifmr, ExactModeFindsTheLeastLoss) {
  IfmrOptions narrow;
  narrow.max_percentile = 0.99F;
  narrow.min_percentile = 0.995F;
  for (const std::string& kind : test::sample_kinds()) {
    const auto x = test::sample(kind, 3000);
    for (const int bits : {8, 16}) {
      for (const bool asymmetric : {true, false}) {
        SCOPED_TRACE(kind + std::to_string(bits) + (asymmetric ? "asymmetric" : "symmetric"));
        for (const bool percentile : {false, true}) {
          const Reference ref(x, bits, asymmetric, percentile ? 0.99 : 0.999999,
                              percentile ? 0.995 : 0.999999);
          if (asymmetric && ref.high == 0.0) continue;  // every candidate is the same
          const auto r = run(x, kNever, bits, asymmetric, percentile ? narrow : IfmrOptions{});
          ASSERT_TRUE(r.ok());
          EXPECT_TRUE(r.exact);
          const double least = ref.least();
          // Of the grid samples, which fit the integers, only the rounding of float is left; and
          // with 65535 steps the clip end may round to either of two levels.
          const double noise = (bits == 8 ? 1e-5 : 3e-3) * least + (kind == "grid" ? 1e-14 : 0.0);
          EXPECT_LE(ref.loss_of_scale(r.factor.scale), least + noise);
          EXPECT_NEAR(r.loss, least, 1e-5 * least + noise);
        }
      }
    }
  }
}

TEST(Ifmr, TriesTheDocumentedRatios) {
  EXPECT_EQ(ifmr_candidates({}), 61U);
  IfmrOptions o;
  o.search_range_start = 0.3F;
  o.search_range_end = 1.7F;
  o.search_step = 0.1F;
  EXPECT_EQ(ifmr_candidates(o), 15U);
  o.search_step = 1.4F;
  EXPECT_EQ(ifmr_candidates(o), 2U);
  o.search_step = 1.0F;
  EXPECT_EQ(ifmr_candidates(o), 2U);
}

TEST(Ifmr, ReadsThePercentileAsTheDecimalThatWasWritten) {
  // floor(0.999999 * n) with the binary value of 0.999999F would be one less.
  std::vector<float> x(1'000'000, 0.5F);
  x[77] = 50.0F;
  const auto r = run(x, kNever, 8, true);
  EXPECT_GT(clip_max_of(r.factor, 8), 0.69F * 50.0F);
}

TEST(Ifmr, HistogramModeIsAsGoodAsTheExactOne) {
  for (const std::string& kind : test::sample_kinds()) {
    const auto x = test::sample(kind, 100'000, 5);
    for (const int bits : {8, 16}) {
      for (const bool asymmetric : {true, false}) {
        SCOPED_TRACE(kind + std::to_string(bits) + (asymmetric ? "asymmetric" : "symmetric"));
        const auto exact = run(x, kNever, bits, asymmetric);
        const auto coarse = run(x, kAlways, bits, asymmetric);
        EXPECT_FALSE(coarse.exact);
        EXPECT_EQ(coarse.finite_count, exact.finite_count);
        EXPECT_EQ(coarse.observed_min, exact.observed_min);
        EXPECT_EQ(coarse.observed_max, exact.observed_max);
        const Reference ref(x, bits, asymmetric, 0.999999, 0.999999);
        if (ref.high == 0.0) continue;
        const double best = ref.loss_of_scale(exact.factor.scale);
        EXPECT_LE(ref.loss_of_scale(coarse.factor.scale), best * 1.005 + 1e-14);
        EXPECT_NEAR(coarse.factor.scale, exact.factor.scale, 0.021F * exact.factor.scale);
        if (kind != "grid") {
          EXPECT_NEAR(coarse.loss, best, 0.02 * best);
        }
      }
    }
  }
}

TEST(Ifmr, HistogramModeFindsPercentiles) {
  IfmrOptions o;
  o.max_percentile = 0.99F;
  o.min_percentile = 0.98F;
  o.search_range_start = 0.99F;
  o.search_range_end = 1.0F;
  o.search_step = 0.01F;
  for (const std::string& kind : test::sample_kinds()) {
    SCOPED_TRACE(kind);
    const auto x = test::sample(kind, 50'000, 6);
    const auto exact = run(x, kNever, 8, true, o);
    const auto coarse = run(x, kAlways, 8, true, o);
    EXPECT_NEAR(coarse.factor.scale, exact.factor.scale, 0.002F * exact.factor.scale);
    EXPECT_NEAR(coarse.factor.offset, exact.factor.offset, 1);
  }
}

TEST(Ifmr, RefusesOptionsOutsideTheirRange) {
  const auto message = [](auto change) {
    IfmrOptions o;
    change(o);
    try {
      check_ifmr_options(o);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidConfig);
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message([](auto&) {}), "accepted");
  EXPECT_EQ(message([](auto& o) { o.search_step = 0.6F; }), "accepted");
  EXPECT_TRUE(message([](auto& o) { o.max_percentile = 0.5F; }).starts_with("max_percentile"));
  EXPECT_TRUE(message([](auto& o) { o.min_percentile = 1.1F; }).starts_with("min_percentile"));
  EXPECT_TRUE(message([](auto& o) { o.min_percentile = NAN; }).starts_with("min_percentile"));
  EXPECT_TRUE(message([](auto& o) { o.search_range_start = 0.0F; }).starts_with("search_range"));
  EXPECT_TRUE(message([](auto& o) { o.search_range_end = 0.7F; }).starts_with("search_range"));
  EXPECT_TRUE(message([](auto& o) { o.search_range_end = INFINITY; }).starts_with("search_range"));
  EXPECT_TRUE(message([](auto& o) { o.search_step = 0.0F; }).starts_with("search_step"));
  EXPECT_TRUE(message([](auto& o) { o.search_step = 0.7F; }).starts_with("search_step"));
  EXPECT_TRUE(message([](auto& o) { o.search_step = 1e-9F; }).starts_with("search_step"));
}

}  // namespace
}  // namespace amct::quant
