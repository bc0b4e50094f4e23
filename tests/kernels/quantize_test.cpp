#include "amct/kernels/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "each_target.h"

namespace amct::kernels {
namespace {

int slow_quantize(float x, const IntegerGrid& g) {
  if (std::isnan(x)) return g.offset;
  const double q = std::nearbyint(double{x / g.scale}) + g.offset;
  return static_cast<int>(std::clamp(q, double(g.q_min), double(g.q_max)));
}

const std::vector<IntegerGrid> kGrids = {{0.02F, 0, -128, 127},   {0.02F, -128, -128, 127},
                                         {0.013F, 37, -128, 127}, {0.05F, 0, -32, 31},
                                         {0.03F, 127, -128, 127}, {1.0F, 0, -64, 63}};

TEST(QuantizeI8, AgreesWithALoopAtEverySize) {
  test::on_each_target([] {
    for (const IntegerGrid& grid : kGrids) {
      for (const std::size_t n : test::kSizes) {
        const auto x = test::normal_values(n, static_cast<unsigned>(n), 2.0F);
        std::vector<std::int8_t> out(n);
        quantize_f32_i8(x, grid, out);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], slow_quantize(x[i], grid)) << x[i];
      }
    }
  });
}

TEST(QuantizeI8, RoundsHalfToEvenAndSaturates) {
  test::on_each_target([] {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {0.5F,   1.5F,   2.5F,          -0.5F,   -1.5F, -2.5F,
                                  126.5F, 127.5F, 300.0F,        -300.0F, inf,   -inf,
                                  3e38F,  -3e38F, std::nanf(""), 1e-42F};
    const std::vector<std::int8_t> expected = {0,   2,    2,   0,    -2,  -2,   126, 127,
                                               127, -128, 127, -128, 127, -128, 0,   0};
    for (std::size_t repeat : {1U, 3U}) {  // as a tail and as whole vectors
      std::vector<float> many;
      for (std::size_t r = 0; r < repeat; ++r) many.insert(many.end(), x.begin(), x.end());
      std::vector<std::int8_t> out(many.size());
      quantize_f32_i8(many, {1.0F, 0, -128, 127}, out);
      for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], expected[i % x.size()]) << i;
    }
    std::vector<std::int8_t> one(1);
    for (std::size_t i = 0; i < x.size(); ++i) {
      quantize_f32_i8({&x[i], 1}, {1.0F, 0, -128, 127}, one);
      EXPECT_EQ(one[0], expected[i]) << i;
    }
  });
}

TEST(FakeQuantize, IsTheValueOfTheInteger) {
  test::on_each_target([] {
    for (const IntegerGrid& grid : kGrids) {
      for (const std::size_t n : test::kSizes) {
        const auto x = test::normal_values(n, static_cast<unsigned>(n), 2.0F);
        std::vector<float> out(x);
        fake_quantize_f32(out, grid, out);
        for (std::size_t i = 0; i < n; ++i) {
          const auto level = static_cast<float>(slow_quantize(x[i], grid) - grid.offset);
          ASSERT_EQ(out[i], level * grid.scale) << x[i];
        }
      }
    }
  });
}

TEST(FakeQuantize, HandlesSixteenBits) {
  test::on_each_target([] {
    const auto x = test::normal_values(777, 5, 2.0F);
    const IntegerGrid grid{1e-4F, -1234, -32768, 32767};
    std::vector<float> out(x.size());
    fake_quantize_f32(x, grid, out);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto level = static_cast<float>(slow_quantize(x[i], grid) - grid.offset);
      ASSERT_EQ(out[i], level * grid.scale) << x[i];
    }
  });
}

}  // namespace
}  // namespace amct::kernels
