#include "amct/kernels/range.h"

#include <cmath>
#include <limits>

#include "each_target.h"

namespace amct::kernels {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

FiniteRange slow_range(const std::vector<float>& x) {
  FiniteRange r;
  for (const float v : x) {
    if (!std::isfinite(v)) continue;
    r.min = r.finite == 0 ? v : std::fmin(r.min, v);
    r.max = r.finite == 0 ? v : std::fmax(r.max, v);
    ++r.finite;
  }
  return r;
}

TEST(Range, AgreesWithALoopAtEverySize) {
  test::on_each_target([] {
    for (const std::size_t n : test::kSizes) {
      auto x = test::normal_values(n, static_cast<unsigned>(n));
      EXPECT_EQ(finite_range(x), slow_range(x)) << n;
      for (float& v : x) v = std::fabs(v) + 3.0F;
      EXPECT_EQ(finite_range(x), slow_range(x)) << n;
      for (float& v : x) v = -v;
      EXPECT_EQ(finite_range(x), slow_range(x)) << n;
    }
  });
}

TEST(Range, LeavesOutNonFiniteValuesAtEveryPlace) {
  test::on_each_target([] {
    for (const float bad : {kInf, -kInf, kNan, -kNan}) {
      for (std::size_t at = 0; at < 67; ++at) {
        auto x = test::normal_values(67);
        x[at] = bad;
        const auto r = finite_range(x);
        EXPECT_EQ(r, slow_range(x)) << at;
        EXPECT_EQ(r.finite, 66U);
      }
    }
  });
}

TEST(Range, OfExtremes) {
  test::on_each_target([] {
    const float big = std::numeric_limits<float>::max();
    const float tiny = std::numeric_limits<float>::denorm_min();
    const std::vector<float> x = {big, -big, tiny, -tiny, 0.0F, -0.0F};
    EXPECT_EQ(finite_range(x), (FiniteRange{-big, big, 6}));
    EXPECT_EQ(finite_range(std::vector<float>(40, kNan)), FiniteRange{});
    EXPECT_EQ(finite_range(std::vector<float>(40, -5.0F)), (FiniteRange{-5.0F, -5.0F, 40}));
    EXPECT_EQ(finite_range(std::vector<float>(40, tiny)), (FiniteRange{tiny, tiny, 40}));
  });
}

TEST(AbsMax, AgreesWithALoop) {
  test::on_each_target([] {
    for (const std::size_t n : test::kSizes) {
      const auto x = test::normal_values(n, static_cast<unsigned>(n) + 9);
      float expected = 0.0F;
      for (const float v : x) expected = std::fmax(expected, std::fabs(v));
      EXPECT_EQ(abs_max(x), expected) << n;
    }
    EXPECT_EQ(abs_max(std::vector<float>{1.0F, -kInf, 2.0F}), kInf);
    EXPECT_TRUE(std::isnan(abs_max(std::vector<float>{1.0F, kNan, 2.0F})));
  });
}

TEST(CopyFinite, KeepsOrder) {
  const std::vector<float> x = {kNan, 1.0F, kInf, 2.0F, 3.0F, -kInf};
  std::vector<float> out(x.size());
  ASSERT_EQ(copy_finite(x, out.data()), 3U);
  EXPECT_EQ(out[0], 1.0F);
  EXPECT_EQ(out[1], 2.0F);
  EXPECT_EQ(out[2], 3.0F);
}

}  // namespace
}  // namespace amct::kernels
