#include "amct/quant/hfmg_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "amct/base/error.h"
#include "amct/kernels/range.h"
#include "amct/quant/activation_observer.h"
#include "amct/quant/factor.h"
#include "amct/quant/range_histogram.h"
#include "samples.h"

namespace amct::quant {
namespace {

RangeHistogram histogram_of(const std::vector<float>& x, std::size_t bins = 1024) {
  RangeHistogram h(bins);
  const auto range = kernels::finite_range(x);
  h.add(x, range.min, range.max);
  return h;
}

// Loss of a window as it is defined: even density in each source bin, 2^bits centres in the window.
double slow_loss(std::span<const std::uint64_t> counts, std::size_t left, std::size_t right,
                 double range, int bits) {
  const double width = range / static_cast<double>(counts.size());
  const double levels = std::ldexp(1.0, bits);
  const double step = width * static_cast<double>(right - left + 1) / levels;
  double sum = 0.0;
  constexpr int kPoints = 400;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    double mean = 0.0;
    for (int p = 0; p < kPoints; ++p) {
      const double x =
          width * (static_cast<double>(i) - static_cast<double>(left) + (p + 0.5) / kPoints);
      const double level = std::clamp(std::floor(x / step), 0.0, levels - 1.0);
      mean += std::pow(x - (level + 0.5) * step, 2) / kPoints;
    }
    sum += static_cast<double>(counts[i]) * mean;
  }
  return sum;
}

TEST(HfmgSearch, WindowIsTheBestOfThoseOnItsWay) {
  for (const char* kind : {"normal", "relu", "outlier", "lognormal"}) {
    SCOPED_TRACE(kind);
    const auto h = histogram_of(test::sample(kind, 20'000));
    const double range = double{h.max()} - double{h.min()};
    const HfmgWindow w = hfmg_search(h.counts(), range, 8);
    EXPECT_NEAR(w.loss, slow_loss(h.counts(), w.left, w.right, range, 8), 1e-3 * w.loss);
    // Up to 100000 samples only the right end moves: all windows can be tried.
    EXPECT_EQ(w.left, 0U);
    for (std::size_t right = 260; right < 1023; right += 37) {
      if (h.counts()[right + 1] == 0) continue;
      EXPECT_GE(slow_loss(h.counts(), 0, right, range, 8), w.loss * (1 - 1e-3)) << right;
    }
  }
}

TEST(HfmgSearch, KeepsTheWholeOfATinyRange) {
  const std::vector<std::uint64_t> counts(1024, 5);
  const HfmgWindow w = hfmg_search(counts, 1e-5, 8);
  EXPECT_EQ(w.left, 0U);
  EXPECT_EQ(w.right, 1023U);
}

TEST(HfmgSearch, EndsOnEveryShapeOfHistogram) {
  for (const std::size_t at : {0U, 1U, 511U, 512U, 1022U, 1023U}) {
    std::vector<std::uint64_t> counts(1024, 0);
    counts[at] = 7;
    const HfmgWindow w = hfmg_search(counts, 4.0, 8);
    EXPECT_LE(w.left, w.right);
    EXPECT_TRUE(std::isfinite(w.loss));
    counts[1023 - at] = std::uint64_t{1} << 60;
    EXPECT_TRUE(std::isfinite(hfmg_search(counts, 4.0, 16).loss));
  }
}

TEST(RangeHistogram, KeepsTheTotalWhenTheRangeGrows) {
  RangeHistogram h(1024);
  std::uint64_t expected = 0;
  for (int i = 0; i < 40; ++i) {
    auto x = test::sample("normal", 1000, static_cast<unsigned>(i));
    for (float& v : x) v *= std::exp2(static_cast<float>(i % 13));
    const auto range = kernels::finite_range(x);
    h.add(x, range.min, range.max);
    expected += x.size();
    EXPECT_EQ(std::accumulate(h.counts().begin(), h.counts().end(), std::uint64_t{0}), expected);
  }
  EXPECT_EQ(h.total(), expected);
}

TEST(RangeHistogram, ASmallerRangeAfterManyCountsChangesNothing) {
  RangeHistogram h = histogram_of({-1.0F, 0.1F, 2.0F});
  for (int i = 0; i < 30; ++i) {
    const RangeHistogram copy = h;
    h.merge(copy);
  }
  const std::vector<std::uint64_t> before(h.counts().begin(), h.counts().end());
  EXPECT_EQ(h.total(), std::uint64_t{3} << 30);
  const std::vector<float> small(100, 0.1F);
  h.add(small, 0.1F, 0.1F);
  EXPECT_EQ(h.min(), -1.0F);
  EXPECT_EQ(h.max(), 2.0F);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) moved += h.counts()[i] - before[i];
  EXPECT_EQ(moved, 100U);
}

TEST(RangeHistogram, SplitOfBatchesWithinTheRangeDoesNotMatter) {
  const auto x = test::sample("normal", 5000, 3);
  const RangeHistogram whole = histogram_of(x);
  RangeHistogram parts(1024);
  const std::vector<float> ends = {whole.min(), whole.max()};
  auto rest = x;
  std::erase_if(rest, [&](float v) { return v == ends[0] || v == ends[1]; });
  parts.add(ends, ends[0], ends[1]);
  for (const float v : rest) parts.add({&v, 1}, v, v);
  EXPECT_TRUE(std::ranges::equal(parts.counts(), whole.counts()));
}

TEST(Hfmg, IsCloseToTheDataWhateverTheSplit) {
  for (const std::string& kind : test::sample_kinds()) {
    SCOPED_TRACE(kind);
    ActivationOptions o;
    o.algorithm = HfmgOptions{2048};
    const auto x = test::sample(kind, 60'000, 2);
    const auto whole = make_observer(o);
    whole->observe(x);
    const auto split = make_observer(o);
    const auto merged = make_observer(o);
    for (std::size_t at = 0; at < x.size(); at += 4096) {
      const auto part = std::span(x).subspan(at, std::min<std::size_t>(4096, x.size() - at));
      split->observe(part);
      const auto own = make_observer(o);
      own->observe(part);
      merged->merge(*own);
    }
    const auto a = whole->finish(8, true);
    for (const auto* other : {split.get(), merged.get()}) {
      const auto b = other->finish(8, true);
      EXPECT_EQ(b.finite_count, a.finite_count);
      EXPECT_EQ(b.observed_min, a.observed_min);
      EXPECT_EQ(b.observed_max, a.observed_max);
      EXPECT_NEAR(b.factor.scale, a.factor.scale, 0.03F * a.factor.scale);
    }
  }
}

TEST(Hfmg, RefusesOtherNumbersOfBins) {
  ActivationOptions o;
  for (const std::uint32_t bins : {0U, 1U, 1000U, 16384U, 0xFFFFFFFFU}) {
    o.algorithm = HfmgOptions{bins};
    EXPECT_THROW(make_observer(o), Error) << bins;
  }
}

}  // namespace
}  // namespace amct::quant
