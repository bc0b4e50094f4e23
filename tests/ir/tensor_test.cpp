#include "amct/ir/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "amct/base/error.h"

namespace amct::ir {
namespace {

TEST(Tensor, RefusesAbsurdDimensions) {
  const std::vector<std::int64_t> negative{2, -1};
  const std::vector<std::int64_t> huge{std::int64_t{1} << 40, std::int64_t{1} << 40};
  const std::vector<std::int64_t> empty{std::int64_t{1} << 40, 0};
  EXPECT_THROW(element_count(negative), Error);
  EXPECT_THROW(element_count(huge), Error);
  EXPECT_EQ(element_count(empty), 0);
}

TEST(Tensor, RefusesDataOfAnotherSize) {
  const std::vector<float> values{1, 2, 3};
  EXPECT_THROW(Tensor::of<float>({2}, values), Error);
  EXPECT_EQ(Tensor::of<float>({3}, values).size(), 3);
}

TEST(Tensor, CopiesBeforeWritingASharedBuffer) {
  const std::vector<float> values{1, 2};
  Tensor first = Tensor::of<float>({2}, values);
  Tensor second = first;
  second.mutable_values<float>()[0] = 9;
  EXPECT_EQ(first.values<float>()[0], 1.0F);
  EXPECT_EQ(second.values<float>()[0], 9.0F);
}

TEST(Tensor, NamesEveryTypeBothWays) {
  for (std::int32_t i = 1; i <= 26; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(parse_data_type(to_string(type)), type);
  }
  EXPECT_EQ(parse_data_type("float"), DataType::kFloat);
  EXPECT_EQ(parse_data_type("undefined"), std::nullopt);
  EXPECT_EQ(to_string(static_cast<DataType>(99)), "type99");
}

TEST(Half, ConvertsEveryBitPatternThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_half(value), bits);
  }
}

TEST(Half, RoundsHalfToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F), 0x3C00U);
  EXPECT_EQ(float_to_half(1.0F + 3 * 0x1p-11F), 0x3C02U);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFFU);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00U);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xFC00U);
  EXPECT_EQ(float_to_half(0x1p-25F), 0U);
  EXPECT_EQ(float_to_half(0x1.8p-25F), 1U);
}

TEST(Tensor, ReadsIntegersAndHalves) {
  const std::vector<std::int8_t> integers{-3, 7};
  EXPECT_EQ(to_int64(Tensor::of<std::int8_t>({2}, integers)), (std::vector<std::int64_t>{-3, 7}));
  EXPECT_THROW(to_float(Tensor::of<std::int8_t>({2}, integers)), Error);
}

}  // namespace
}  // namespace amct::ir
