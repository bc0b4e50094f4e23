#include "amct/decompose/conv_shape.h"

#include <gtest/gtest.h>

#include "golden_data.h"

namespace amct::decompose {
namespace {

ConvShape shape_of_row(const nlohmann::json& row) {
  return {row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8]};
}

TEST(ConvShape, ModeIsThatOfTheOriginalInEveryRow) {
  std::size_t checked = 0;
  for (const auto& row : test::load_cases("decompose_filter")) {
    const std::string dtype = row[9];
    // Other types never get here: the formats refuse them.
    if (dtype != "float32" && dtype != "float16" && dtype != "float64") continue;
    const Eligibility found = choose_mode(shape_of_row(row));
    EXPECT_EQ(to_string(found.mode), row[10].get<std::string>()) << row;
    EXPECT_EQ(static_cast<int>(found.mode), row[11].get<int>()) << row;
    EXPECT_EQ(found.reason.empty(), found.mode != Mode::kUnchange) << row;
    ++checked;
  }
  EXPECT_EQ(checked, 317U);
}

TEST(ConvShape, EveryRefusalSaysWhatIsInTheWay) {
  const auto reason = [](ConvShape s) { return choose_mode(s).reason; };
  const ConvShape good{64, 64, 3, 3, 1, 1, 1, 1, 1};
  EXPECT_EQ(reason(good), "");
  ConvShape s = good;
  s.groups = 64;
  EXPECT_NE(reason(s).find("64 groups"), std::string::npos);
  s = good;
  s.dilation_w = 2;
  EXPECT_NE(reason(s).find("dilated (1 x 2)"), std::string::npos);
  s = good;
  s.kernel_h = 1;
  EXPECT_NE(reason(s).find("kernel of 1 x 3 is too small"), std::string::npos);
  s = good;
  s.stride_h = 3;
  EXPECT_NE(reason(s).find("stride of 3 x 1"), std::string::npos);
  s = good;
  s.in_channels = 63;
  EXPECT_NE(reason(s).find("63 -> 64 channels are too few"), std::string::npos);
  s = {2, 64, 7, 7, 1, 1, 1, 1, 1};
  EXPECT_NE(reason(s).find("is 14, at least 16"), std::string::npos);
  s = {0, 64, 7, 7, 1, 1, 1, 1, 1};
  EXPECT_EQ(reason(s), "the kernel is empty");
}

TEST(ConvShape, FirstPartHasTheHeightInTwoModes) {
  EXPECT_TRUE(first_has_height(Mode::kScfk));
  EXPECT_TRUE(first_has_height(Mode::kFcsk));
  EXPECT_FALSE(first_has_height(Mode::kScsk));
  EXPECT_FALSE(first_has_height(Mode::kFcfk));
}

}  // namespace
}  // namespace amct::decompose
