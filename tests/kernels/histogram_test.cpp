#include "amct/kernels/histogram.h"

#include <algorithm>
#include <cmath>

#include "each_target.h"

namespace amct::kernels {
namespace {

struct Counts {
  std::vector<std::uint64_t> bins;
  std::uint64_t zeros = 0;
  bool operator==(const Counts&) const = default;
};

Counts drained(CounterTable& table) {
  Counts c{std::vector<std::uint64_t>(table.bins(), 0), 0};
  table.drain(c.bins, c.zeros);
  return c;
}

Counts slow_grid(const std::vector<float>& x, double width, int first, std::size_t bins) {
  Counts c{std::vector<std::uint64_t>(bins, 0), 0};
  for (const float v : x) {
    if (v == 0.0F) {
      ++c.zeros;
      continue;
    }
    const int t = static_cast<int>(std::floor(std::fabs(double{v}) / width));
    ++c.bins[static_cast<std::size_t>((v > 0.0F ? t : -1 - t) - first)];
  }
  return c;
}

TEST(CountOnGrid, AgreesWithALoopAtEverySize) {
  test::on_each_target([] {
    for (const std::size_t n : test::kSizes) {
      auto x = test::normal_values(n, static_cast<unsigned>(n));
      for (std::size_t i = 0; i < n; i += 3) x[i] = std::max(0.0F, x[i]);  // zeros
      for (std::size_t i = 0; i < n; i += 7) x[i] = -0.0F;
      CounterTable table(256);
      count_on_grid(x, 16.0F, -128, table);
      EXPECT_EQ(drained(table), slow_grid(x, 1.0 / 16, -128, 256)) << n;
    }
  });
}

TEST(CountOnGrid, PutsEdgesAndTinyValuesOnTheRightSide) {
  test::on_each_target([] {
    const float tiny = std::numeric_limits<float>::denorm_min();
    const std::vector<float> x = {1.0F, -1.0F, 0.5F, -0.5F, 1.5F,   std::nextafter(1.0F, 0.0F),
                                  tiny, -tiny, 0.0F, -0.0F, 1e-30F, -1e-30F};
    CounterTable table(8);
    count_on_grid(x, 2.0F, -4, table);
    const Counts c = drained(table);
    EXPECT_EQ(c.zeros, 2U);
    // Bins, in units of 0.5: ... [-1.5, -1) holds -1, [-1, -0.5) holds -0.5 ...
    EXPECT_EQ(c.bins, (std::vector<std::uint64_t>{0, 1, 1, 2, 2, 2, 1, 1}));
  });
}

TEST(CountLinear, AgreesWithALoopAtEverySize) {
  test::on_each_target([] {
    for (const std::size_t n : test::kSizes) {
      auto x = test::normal_values(n, static_cast<unsigned>(n));
      for (float& v : x) v = std::clamp(v, -2.0F, 2.0F);
      Counts expected{std::vector<std::uint64_t>(64, 0), 0};
      for (const float v : x) {
        const float bin = (v + 2.0F) * 16.0F;
        ++expected.bins[std::min<std::size_t>(static_cast<std::size_t>(bin), 63)];
      }
      CounterTable table(64);
      count_linear(x, -2.0F, 16.0F, table);
      EXPECT_EQ(drained(table), expected) << n;
    }
  });
}

TEST(CounterTable, DrainAddsAndStartsAgain) {
  CounterTable table(4);
  const auto room = table.room();
  Counts sum{{10, 0, 0, 0}, 5};
  const std::vector<float> x = {0.5F, 0.5F, 3.5F, 0.0F};
  count_on_grid(x, 1.0F, 0, table);
  EXPECT_EQ(table.room(), room - 4);
  table.drain(sum.bins, sum.zeros);
  EXPECT_EQ(sum, (Counts{{12, 0, 0, 1}, 6}));
  EXPECT_EQ(table.room(), room);
  table.drain(sum.bins, sum.zeros);
  EXPECT_EQ(sum, (Counts{{12, 0, 0, 1}, 6}));
}

}  // namespace
}  // namespace amct::kernels
