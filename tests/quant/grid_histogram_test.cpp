#include "amct/quant/grid_histogram.h"

#include <gtest/gtest.h>

#include <numeric>

#include "amct/kernels/range.h"
#include "samples.h"

namespace amct::quant {
namespace {

void add(GridHistogram& h, std::span<const float> x) {
  const auto range = kernels::finite_range(x);
  h.add(x, range.min, range.max);
}

// Counts by bin number, without the place of the table in memory.
std::vector<std::uint64_t> by_bin(const GridHistogram& h) {
  const auto view = h.view();
  std::vector<std::uint64_t> all(static_cast<std::size_t>(2 * GridHistogram::kCapacity), 0);
  for (std::size_t i = 0; i < view.counts.size(); ++i) {
    all[static_cast<std::size_t>(view.first + GridHistogram::kCapacity) + i] = view.counts[i];
  }
  all.push_back(view.zeros);
  return all;
}

void expect_same(const GridHistogram& a, const GridHistogram& b) {
  EXPECT_EQ(a.exponent(), b.exponent());
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.min(), b.min());
  EXPECT_EQ(a.max(), b.max());
  EXPECT_EQ(by_bin(a), by_bin(b));
}

std::vector<float> growing(std::size_t n) {
  auto x = test::sample("normal", n, 11);
  for (std::size_t i = 0; i < n; ++i) x[i] *= std::exp2(static_cast<float>(i % 97) - 60.0F);
  return x;
}

TEST(GridHistogram, DoesNotDependOnOrderOrSplit) {
  for (const auto& x : {growing(5000), test::sample("relu", 5000), test::sample("negative", 5000),
                        test::sample("shifted", 5000)}) {
    GridHistogram whole;
    add(whole, x);
    for (const std::size_t piece : {1U, 7U, 500U, 4999U}) {
      GridHistogram forward, backward, merged;
      for (std::size_t at = 0; at < x.size(); at += piece) {
        const auto part = std::span(x).subspan(at, std::min(piece, x.size() - at));
        add(forward, part);
        GridHistogram own;
        add(own, part);
        merged.merge(own);
      }
      std::vector<float> reversed(x.rbegin(), x.rend());
      for (std::size_t at = 0; at < x.size(); at += piece) {
        add(backward, std::span(reversed).subspan(at, std::min(piece, x.size() - at)));
      }
      expect_same(forward, whole);
      expect_same(backward, whole);
      expect_same(merged, whole);
    }
  }
}

TEST(GridHistogram, UsesTheFinestWidthThatFits) {
  for (const float end : {1e-30F, 0.7F, 1.0F, 4095.0F, 4096.0F, 3e38F}) {
    const std::vector<float> positive = {end, 0.0F};
    const std::vector<float> both = {end, -end};
    for (const auto& x : {positive, both}) {
      GridHistogram h;
      add(h, x);
      const double sides = x[1] < 0.0F ? 2.0 : 1.0;
      const double bins = sides * (std::floor(double{end} / h.bin_width()) + 1.0);
      EXPECT_LE(bins, static_cast<double>(GridHistogram::kCapacity));
      const double finer = sides * (std::floor(double{end} / h.bin_width() * 2.0) + 1.0);
      EXPECT_GT(finer, static_cast<double>(GridHistogram::kCapacity));
    }
  }
}

TEST(GridHistogram, CountsBeyondThirtyTwoBits) {
  GridHistogram h;
  add(h, std::vector<float>(1000, 2.0F));
  for (int i = 0; i < 30; ++i) {
    const GridHistogram copy = h;
    h.merge(copy);
  }
  add(h, std::vector<float>{0.25F, 0.0F, 1000.0F});
  EXPECT_EQ(h.count(), (std::uint64_t{1000} << 30) + 3);
  const auto view = h.view();
  EXPECT_EQ(view.zeros, 1U);
  EXPECT_EQ(std::accumulate(view.counts.begin(), view.counts.end(), std::uint64_t{0}) + 1,
            h.count());
  EXPECT_EQ(*std::ranges::max_element(view.counts), std::uint64_t{1000} << 30);
}

TEST(GridHistogram, RestoresOnlyStatesThatCanBe) {
  GridHistogram h;
  add(h, test::sample("normal", 500));
  const auto view = h.view();
  const auto restored = [&](int exponent, float min, float max, const GridHistogram::View& v) {
    GridHistogram other;
    return other.restore(exponent, min, max, v);
  };
  EXPECT_TRUE(restored(h.exponent(), h.min(), h.max(), view));
  EXPECT_FALSE(restored(h.exponent() + 1, h.min(), h.max(), view));
  EXPECT_FALSE(restored(h.exponent(), h.max(), h.min(), view));
  EXPECT_FALSE(restored(h.exponent(), test::kNan, h.max(), view));
  auto bad = view;
  bad.first = 1;
  EXPECT_FALSE(restored(h.exponent(), h.min(), h.max(), bad));
  bad = view;
  bad.counts.pop_back();
  EXPECT_FALSE(restored(h.exponent(), h.min(), h.max(), bad));
  bad = view;
  bad.counts.front() += 1;  // outside the range
  EXPECT_FALSE(restored(h.exponent(), h.min(), h.max(), bad));
  bad = view;
  bad.zeros = ~std::uint64_t{0};
  EXPECT_FALSE(restored(h.exponent(), h.min(), h.max(), bad));
}

}  // namespace
}  // namespace amct::quant
