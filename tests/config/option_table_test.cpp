#include "amct/config/option_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "amct/base/quant_options.h"
#include "amct/config/quant_config.h"

namespace amct::config {
namespace {

double default_of(Option option) {
  return std::strtod(std::string(option_info(option).default_value).c_str(), nullptr);
}

TEST(OptionTable, DocumentationHoldsTheGeneratedTable) {
  std::ifstream file(std::string(AMCT_TEST_DIR) + "/../docs/config.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(option_table_markdown()), std::string::npos)
      << "docs/config.md should hold:\n"
      << option_table_markdown();
}

TEST(OptionTable, DefaultsAreThoseOfTheOptionStructs) {
  const IfmrOptions ifmr;
  EXPECT_EQ(static_cast<float>(default_of(Option::kMaxPercentile)), ifmr.max_percentile);
  EXPECT_EQ(static_cast<float>(default_of(Option::kMinPercentile)), ifmr.min_percentile);
  EXPECT_EQ(static_cast<float>(default_of(Option::kSearchRangeStart)), ifmr.search_range_start);
  EXPECT_EQ(static_cast<float>(default_of(Option::kSearchRangeEnd)), ifmr.search_range_end);
  EXPECT_EQ(static_cast<float>(default_of(Option::kSearchStep)), ifmr.search_step);
  EXPECT_EQ(default_of(Option::kNumOfBins), HfmgOptions{}.num_of_bins);
  EXPECT_EQ(default_of(Option::kActivationBits), ActivationOptions{}.num_bits);
  EXPECT_EQ(default_of(Option::kWeightBits), WeightOptions{}.num_bits);
  EXPECT_EQ(default_of(Option::kBatchNum), QuantConfig{}.batch_num);
  EXPECT_EQ(default_of(Option::kVersion), QuantConfig{}.version);
}

TEST(OptionTable, EachDefaultIsInItsRange) {
  for (const OptionInfo& info : option_table()) {
    EXPECT_EQ(&option_info(info.option), &info);
    if (!info.default_value.empty()) {
      EXPECT_TRUE(in_range(info.option, default_of(info.option))) << info.help;
    }
  }
}

TEST(OptionTable, NothingHoldsNanOrInfinity) {
  for (const OptionInfo& info : option_table()) {
    for (const double value : {NAN, INFINITY, -INFINITY}) {
      EXPECT_FALSE(in_range(info.option, value)) << info.help;
    }
  }
}

TEST(OptionTable, BoundsAreOpenOrClosedAsWritten) {
  EXPECT_FALSE(in_range(Option::kMaxPercentile, 0.5));
  EXPECT_TRUE(in_range(Option::kMaxPercentile, std::nextafter(0.5F, 1.0F)));
  EXPECT_TRUE(in_range(Option::kMaxPercentile, 1.0));
  EXPECT_FALSE(in_range(Option::kMaxPercentile, std::nextafter(1.0F, 2.0F)));
  EXPECT_TRUE(in_range(Option::kMigrationStrength, 0.2F));
  EXPECT_TRUE(in_range(Option::kMigrationStrength, 0.8F));
  EXPECT_FALSE(in_range(Option::kMigrationStrength, std::nextafter(0.8F, 1.0F)));
  EXPECT_FALSE(in_range(Option::kSearchStep, 0.0));
  EXPECT_TRUE(in_range(Option::kSearchStep, 1e30));
  EXPECT_FALSE(in_range(Option::kSearchStep, 1e39));
  EXPECT_TRUE(in_range(Option::kBatchNum, 4294967295.0));
  EXPECT_FALSE(in_range(Option::kBatchNum, 4294967296.0));
  EXPECT_FALSE(in_range(Option::kBatchNum, 1.5));
  EXPECT_TRUE(in_range(Option::kNumOfBins, 8192));
  EXPECT_FALSE(in_range(Option::kNumOfBins, 8191));
}

}  // namespace
}  // namespace amct::config
