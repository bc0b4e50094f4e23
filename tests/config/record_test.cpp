#include "amct/config/record.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "message_of.h"

namespace amct::config {
namespace {

constexpr std::string_view kExample = R"(record {
  key: "conv1"
  value {
    scale_d: 0.0235294122
    offset_d: -128
    scale_w: 0.0051
    scale_w: 0.0047
    offset_w: 0
    offset_w: 0
    skip_fusion: true
    op_data_type: "FLOAT32"
    act_type: "INT8"
    wts_type: "INT8"
    tensor_balance_factor: 1.25
    tensor_balance_factor: 0.8
    tensor_balance_factor: 1.0
  }
}
record {  # a comment
  key: 'pool1:0'
  value { scale_d: 0.00392156886  offset_d: -128  op_data_type: 'FLOAT32'  is_tensor_quantize: true }
}
)";

Record example() {
  LayerRecord conv;
  conv.scale_d = 0.0235294122F;
  conv.offset_d = -128;
  conv.scale_w = {0.0051F, 0.0047F};
  conv.offset_w = {0, 0};
  conv.skip_fusion = true;
  conv.op_data_type = "FLOAT32";
  conv.act_type = "INT8";
  conv.wts_type = "INT8";
  conv.tensor_balance_factor = {1.25F, 0.8F, 1.0F};
  LayerRecord pool;
  pool.scale_d = 0.00392156886F;
  pool.offset_d = -128;
  pool.op_data_type = "FLOAT32";
  pool.is_tensor_quantize = true;
  return {{{"conv1", conv}, {"pool1:0", pool}}};
}

LayerRecord layer_record() {
  LayerRecord layer;
  layer.scale_d = 0.5F;
  layer.offset_d = 3;
  layer.scale_w = {0.25F};
  layer.offset_w = {0};
  return layer;
}

std::string validation_of(const LayerRecord& layer) {
  return message_of([&] { validate_record({{{"fc", layer}}}, "r.txt"); });
}

TEST(Record, ReadsTheDocumentedExample) {
  const Record record = parse_record(kExample, "record.txt");
  EXPECT_EQ(record, example());
  EXPECT_NO_THROW(validate_record(record, "record.txt"));
}

TEST(Record, WritesThisText) {
  EXPECT_EQ(write_record(example()), R"(record {
  key: "conv1"
  value {
    scale_d: 0.0235294122
    offset_d: -128
    scale_w: 0.0051
    scale_w: 0.0047
    offset_w: 0
    offset_w: 0
    skip_fusion: true
    tensor_balance_factor: 1.25
    tensor_balance_factor: 0.8
    tensor_balance_factor: 1
    op_data_type: "FLOAT32"
    act_type: "INT8"
    wts_type: "INT8"
  }
}
record {
  key: "pool1:0"
  value {
    scale_d: 0.00392156886
    offset_d: -128
    is_tensor_quantize: true
    op_data_type: "FLOAT32"
  }
}
)");
}

TEST(Record, ReadsBackWhatItWrote) {
  Record record = example();
  record.entries[0].second.shift_bit = {0, 3};
  record.entries[0].first = "a\"b\\c/\xC3\xA9\n";
  EXPECT_EQ(parse_record(write_record(record), "r"), record);
  EXPECT_EQ(parse_record(write_record(Record{}), "r"), Record{});
}

TEST(Record, FloatsReadBackBitExact) {
  std::mt19937 random(7);
  LayerRecord layer;
  while (layer.scale_w.size() < 20000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) layer.scale_w.push_back(value);
  }
  const Record back = parse_record(write_record({{{"x", layer}}}), "r");
  for (std::size_t i = 0; i < layer.scale_w.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(back.entries[0].second.scale_w[i]),
              std::bit_cast<std::uint32_t>(layer.scale_w[i]));
  }
}

TEST(Record, LastOfRepeatedSingleFieldsCounts) {
  const Record record =
      parse_record("record { key: 'a' value { scale_d: 1 scale_d: 2 } key: 'b' }", "r");
  ASSERT_EQ(record.entries.size(), 1U);
  EXPECT_EQ(record.entries[0].first, "b");
  EXPECT_EQ(record.entries[0].second.scale_d, 2.0F);
}

TEST(Record, UnknownFieldsAreAllReportedWithLineAndColumn) {
  const std::string message = message_of([] {
    parse_record("record {\n  key: 'a'\n  scale: 1\n  value { offset: 2 }\n}\nprune { a: 1 }\n",
                 "rec.txt");
  });
  EXPECT_NE(message.find("3 errors"), std::string::npos) << message;
  EXPECT_NE(message.find("rec.txt:3:"), std::string::npos) << message;
  EXPECT_NE(message.find("rec.txt:4:"), std::string::npos) << message;
  EXPECT_NE(message.find("rec.txt:6:"), std::string::npos) << message;
  EXPECT_NE(message.find("\"scale\""), std::string::npos) << message;
}

TEST(Record, BrokenTextIsAnErrorWithLineAndColumn) {
  EXPECT_NE(message_of([] { parse_record("record {\n key: 5\n}", "r.txt"); }).find("r.txt:2:7"),
            std::string::npos);
  EXPECT_NE(message_of([] { parse_record("record {", "r.txt"); }).find("r.txt:1:"),
            std::string::npos);
}

TEST(Record, EntriesNeedKeyAndValue) {
  const std::string message = message_of([] { parse_record("record {}", "r.txt"); });
  EXPECT_NE(message.find("record[0]: has no key"), std::string::npos) << message;
  EXPECT_NE(message.find("record[0]: has no value"), std::string::npos) << message;
}

TEST(Record, HostileTextIsAnError) {
  EXPECT_NE(
      message_of([] { parse_record(std::string((16U << 20U) + 1, ' '), "r"); }).find("16 MiB"),
      std::string::npos);
  EXPECT_NE(message_of([] { parse_record("record { key: '\xFF' }", "r"); }).find("r:1:16"),
            std::string::npos);
  EXPECT_NE(message_of([] { parse_record("record { key: '\\377' value {} }", "r"); }).find("UTF-8"),
            std::string::npos);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "a { ";
  EXPECT_FALSE(message_of([&] { parse_record(deep, "r"); }).empty());
}

TEST(ValidateRecord, AcceptsGoodEntries) {
  EXPECT_EQ(validation_of(layer_record()), "");
  LayerRecord int16 = layer_record();
  int16.act_type = "INT16";
  int16.offset_d = -32768;
  EXPECT_EQ(validation_of(int16), "");
  LayerRecord balance_only;
  balance_only.tensor_balance_factor = {1.0F};
  EXPECT_EQ(validation_of(balance_only), "");
}

TEST(ValidateRecord, ScalesAreFiniteAndInRange) {
  for (const float scale : {0.0F, -1.0F, 1e-7F, 8388610.0F, INFINITY, NAN}) {
    LayerRecord layer = layer_record();
    layer.scale_d = scale;
    layer.scale_w = {scale};
    layer.tensor_balance_factor = {scale};
    const std::string message = validation_of(layer);
    EXPECT_NE(message.find("record \"fc\".scale_d: found"), std::string::npos) << scale;
    EXPECT_NE(message.find("record \"fc\".scale_w[0]: found"), std::string::npos) << scale;
    EXPECT_NE(message.find("record \"fc\".tensor_balance_factor[0]: found"), std::string::npos);
  }
  for (const float scale : {1.1920929e-7F, 8388608.0F}) {
    LayerRecord layer = layer_record();
    layer.scale_d = scale;
    layer.scale_w = {scale};
    EXPECT_EQ(validation_of(layer), "") << scale;
  }
}

TEST(ValidateRecord, OffsetsFitTheType) {
  for (const int offset : {-129, 128}) {
    LayerRecord layer = layer_record();
    layer.offset_d = offset;
    EXPECT_NE(validation_of(layer).find("expected [-128, 127]"), std::string::npos);
    layer.act_type = "INT16";
    EXPECT_EQ(validation_of(layer), "");
    layer.offset_d = offset * 300;
    EXPECT_NE(validation_of(layer).find("expected [-32768, 32767]"), std::string::npos);
  }
  LayerRecord layer = layer_record();
  layer.offset_w = {1};
  EXPECT_NE(validation_of(layer).find("offset_w[0]: found 1, expected 0"), std::string::npos);
}

TEST(ValidateRecord, FieldsMustGoTogether) {
  LayerRecord layer = layer_record();
  layer.offset_w.clear();
  EXPECT_NE(validation_of(layer).find("has 1 scale_w but 0 offset_w"), std::string::npos);
  layer = layer_record();
  layer.offset_d.reset();
  EXPECT_NE(validation_of(layer).find("scale_d without offset_d"), std::string::npos);
  layer = layer_record();
  layer.scale_w.clear();
  layer.offset_w.clear();
  EXPECT_EQ(validation_of(layer), "");  // a layer without weight, such as AveragePool
  layer.is_tensor_quantize = true;
  EXPECT_EQ(validation_of(layer), "");
  layer = layer_record();
  layer.is_tensor_quantize = true;
  EXPECT_NE(validation_of(layer).find("scale_w: is not allowed"), std::string::npos);
  EXPECT_NE(validation_of(LayerRecord{}).find("has no factors"), std::string::npos);
}

TEST(ValidateRecord, ShiftBitsAreAllZeroOrNone) {
  LayerRecord layer = layer_record();
  layer.shift_bit = {1, 16};
  EXPECT_EQ(validation_of(layer), "");
  layer.shift_bit = {0, 0};
  EXPECT_EQ(validation_of(layer), "");
  layer.shift_bit = {0, 4};
  EXPECT_NE(validation_of(layer).find("1 of 2 values are 0"), std::string::npos);
  layer.shift_bit = {17};
  EXPECT_NE(validation_of(layer).find("shift_bit[0]: found 17"), std::string::npos);
}

TEST(ValidateRecord, TypesAreKnown) {
  LayerRecord layer = layer_record();
  layer.act_type = "INT4";
  layer.wts_type = "INT6";
  layer.op_data_type = "DOUBLE";
  const std::string message = validation_of(layer);
  EXPECT_NE(message.find("act_type: found \"INT4\", expected INT8 or INT16"), std::string::npos);
  EXPECT_NE(message.find("wts_type: found \"INT6\", expected INT8"), std::string::npos);
  EXPECT_NE(message.find("op_data_type: found \"DOUBLE\", expected FLOAT16 or FLOAT32"),
            std::string::npos);
}

TEST(ValidateRecord, KeysAreUniqueAndNotEmpty) {
  const Record record{{{"fc", layer_record()}, {"fc", layer_record()}, {"", layer_record()}}};
  const std::string message = message_of([&] { validate_record(record, "r.txt"); });
  EXPECT_NE(message.find("record \"fc\": the key occurs more than once"), std::string::npos);
  EXPECT_NE(message.find("record \"\": the key is empty"), std::string::npos);
  EXPECT_NE(message.find("record file r.txt has 2 errors"), std::string::npos) << message;
}

}  // namespace
}  // namespace amct::config
