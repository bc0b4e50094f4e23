#include "amct/kernels/compare.h"

#include <cmath>
#include <limits>

#include "each_target.h"

namespace amct::kernels {
namespace {

TEST(Comparison, AgreesWithALoopAtEverySize) {
  test::on_each_target([] {
    for (const std::size_t n : test::kSizes) {
      const auto a = test::normal_values(n, 1);
      const auto b = test::normal_values(n, 2);
      Comparison c;
      c.add(a, b);
      double dot = 0.0, aa = 0.0, bb = 0.0, dd = 0.0, top = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        const double d = double{b[i]} - double{a[i]};
        dot += double{a[i]} * double{b[i]};
        aa += double{a[i]} * double{a[i]};
        bb += double{b[i]} * double{b[i]};
        dd += d * d;
        top = std::fmax(top, std::fabs(d));
      }
      const double slack = 1e-12 * static_cast<double>(n + 1);
      EXPECT_EQ(c.count, n);
      EXPECT_NEAR(c.dot, dot, slack);
      EXPECT_NEAR(c.reference_square, aa, slack);
      EXPECT_NEAR(c.value_square, bb, slack);
      EXPECT_NEAR(c.difference_square, dd, slack);
      EXPECT_EQ(c.max_difference, top);
    }
  });
}

TEST(Comparison, PiecesAddUp) {
  const auto a = test::normal_values(100, 1);
  const auto b = test::normal_values(100, 2);
  Comparison whole, left, right;
  whole.add(a, b);
  left.add(std::span(a).first(33), std::span(b).first(33));
  right.add(std::span(a).subspan(33), std::span(b).subspan(33));
  left.merge(right);
  EXPECT_EQ(left.count, whole.count);
  EXPECT_NEAR(left.cosine(), whole.cosine(), 1e-12);
  EXPECT_NEAR(left.sqnr_db(), whole.sqnr_db(), 1e-9);
  EXPECT_EQ(left.max_difference, whole.max_difference);
}

TEST(Comparison, SummariesOfSpecialTensors) {
  const auto of = [](std::vector<float> a, std::vector<float> b) {
    Comparison c;
    c.add(a, b);
    return c;
  };
  EXPECT_EQ(Comparison{}.cosine(), 1.0);
  EXPECT_EQ(Comparison{}.mean_square_error(), 0.0);
  EXPECT_NEAR(of({1, 2}, {2, 4}).cosine(), 1.0, 1e-15);
  EXPECT_NEAR(of({1, 2}, {-1, -2}).cosine(), -1.0, 1e-15);
  EXPECT_EQ(of({0, 0}, {0, 0}).cosine(), 1.0);
  EXPECT_EQ(of({0, 0}, {1, 0}).cosine(), 0.0);
  EXPECT_EQ(of({1, 2}, {1, 2}).sqnr_db(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(of({0, 0}, {1, 0}).sqnr_db(), -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(of({10, 0}, {9, 0}).sqnr_db(), 20.0, 1e-12);
  EXPECT_NEAR(of({10, 0}, {8, 0}).mean_square_error(), 2.0, 1e-12);
  const auto broken = of({1, 2, 3}, {1, std::nanf(""), 3});
  EXPECT_FALSE(std::isfinite(broken.difference_square));
  EXPECT_FALSE(std::isfinite(broken.max_difference));
}

}  // namespace
}  // namespace amct::kernels
