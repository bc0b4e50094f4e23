#include "amct/config/simple_config.h"

#include <gtest/gtest.h>

#include "message_of.h"

namespace amct::config {
namespace {

TEST(SimpleConfigText, ReadsTheDocumentedExample) {
  const SimpleConfig config = parse_simple_config(R"(
batch_num : 2
activation_offset : true
skip_layers : "conv_last"
skip_layers : "head/fc"
skip_layer_types : "MatMul"
common_config : {
    arq_quantize  : { channel_wise : true  quant_bits : 8 }
    ifmr_quantize : { search_range_start : 0.7 search_range_end : 1.3 search_step : 0.01
                      max_percentile : 0.999999 min_percentile : 0.999999 asymmetric : true dst_type : INT8 }
}
override_layer_types : {
    layer_type : "Gemm"
    calibration_config : { arq_quantize : { channel_wise : false } hfmg_quantize : { num_of_bins : 2048 dst_type : INT16 } }
}
override_layer_configs : {
    layer_name : "conv1"
    calibration_config : { ifmr_quantize : { search_step : 0.02 asymmetric : false } }
}
tensor_quantize { layer_name : "pool1" input_index : 0 }
)",
                                                  "quant.cfg");
  SimpleConfig expected;
  expected.batch_num = 2;
  expected.activation_offset = true;
  expected.skip_layers = {"conv_last", "head/fc"};
  expected.skip_layer_types = {"MatMul"};
  expected.common = {
      ArqSetting{true, 8}, IfmrSetting{0.7F, 1.3F, 0.01F, 0.999999F, 0.999999F, true, 8}, {}};
  expected.override_types = {{"Gemm", {ArqSetting{false, {}}, HfmgSetting{2048, {}, 16}, {}}}};
  IfmrSetting conv;
  conv.search_step = 0.02F;
  conv.asymmetric = false;
  expected.override_layers = {{"conv1", {{}, conv, {}}}};
  expected.tensor_quantize = {{"pool1", 0, {}}};
  EXPECT_EQ(config, expected);
}

std::string problems_of(std::string_view text) {
  return message_of([&] { parse_simple_config(text, "quant.cfg"); });
}

TEST(SimpleConfigText, EmptyTextIsTheDefaultConfig) {
  EXPECT_EQ(parse_simple_config("", "quant.cfg"), SimpleConfig{});
  EXPECT_EQ(parse_simple_config("# only a comment\n", "quant.cfg"), SimpleConfig{});
}

TEST(SimpleConfigText, ReadsTheRarerFields) {
  const SimpleConfig config = parse_simple_config(R"(
joint_quant: true do_fusion: false skip_fusion_layers: 'conv1' fakequant_precision_mode: FORCE_FP16_QUANT
nuq_config { mapping_file: "net.json" nuq_quantize { num_steps: 32 num_of_iteration: 0 } }
common_config { nuq_quantize { num_steps: 16 } dmq_balancer {} }
tensor_quantize { layer_name: "sum" input_index: 1 hfmg_quantize { num_of_bins: 1024 asymmetric: true } }
)",
                                                  "quant.cfg");
  SimpleConfig expected;
  expected.joint_quant = true;
  expected.do_fusion = false;
  expected.skip_fusion_layers = {"conv1"};
  expected.fakequant_precision_mode = FakequantPrecisionMode::kForceFp16Quant;
  expected.nuq = NuqSetting{"net.json", NuqOptions{32, 0}};
  expected.common = {NuqOptions{16, {}}, {}, 0.5F};
  expected.tensor_quantize = {{"sum", 1, HfmgSetting{1024, true, {}}}};
  EXPECT_EQ(config, expected);
}

TEST(SimpleConfigText, LastOfExclusiveFieldsWinsWithAWarning) {
  SimpleConfig config;
  const auto warnings = warnings_of([&] {
    config = parse_simple_config(R"(nuq_config { mapping_file: "m" }
common_config {
  arq_quantize { quant_bits: 7 }
  nuq_quantize { num_steps: 16 }
  hfmg_quantize { num_of_bins: 1024 }
  ifmr_quantize { search_step: 0.1 }
}
tensor_quantize { layer_name: "pool1" input_index: 0 ifmr_quantize {} hfmg_quantize {} }
)",
                                 "quant.cfg");
  });
  EXPECT_TRUE(std::holds_alternative<NuqOptions>(config.common.weights));
  EXPECT_TRUE(std::holds_alternative<IfmrSetting>(config.common.activation));
  EXPECT_TRUE(std::holds_alternative<HfmgSetting>(config.tensor_quantize[0].activation));
  const std::vector<std::string> expected{
      "quant.cfg:3:3: common_config.arq_quantize is ignored, since nuq_quantize follows it",
      "quant.cfg:5:3: common_config.hfmg_quantize is ignored, since ifmr_quantize follows it",
      "quant.cfg:8:54: tensor_quantize[0].ifmr_quantize is ignored, since hfmg_quantize follows "
      "it"};
  EXPECT_EQ(warnings, expected);
}

TEST(SimpleConfigText, AllUnknownFieldsAreReportedWithLineAndColumn) {
  EXPECT_EQ(problems_of("batch_nums: 1\ncommon_config {\n  arq { a { b: 1 } }\n}\nbatch_num: 0\n"),
            R"(simple config quant.cfg has 3 errors:
  quant.cfg:1:11: Message type "amct.config_schema.AMCTConfig" has no field named "batch_nums".
  quant.cfg:3:7: Message type "amct.config_schema.CalibrationConfig" has no field named "arq".
  batch_num: found 0, expected [1, 4294967295])");
}

TEST(SimpleConfigText, BrokenTextIsReportedWithLineAndColumn) {
  EXPECT_NE(problems_of("batch_num: 1\nbatch_num: x\n").find("quant.cfg:2:12: "),
            std::string::npos);
  EXPECT_NE(problems_of("common_config {").find("quant.cfg:1:16: "), std::string::npos);
  EXPECT_NE(problems_of("common_config { ifmr_quantize { dst_type: INT4 } }").find("\"INT4\""),
            std::string::npos);
  EXPECT_NE(problems_of("batch_num: -1").find("quant.cfg:1:12: "), std::string::npos);
  EXPECT_NE(problems_of("batch_num: 4294967296").find("quant.cfg:1:12: "), std::string::npos);
}

TEST(SimpleConfigText, RequiredFieldsMustBeThere) {
  const std::string message =
      problems_of("override_layer_types {} tensor_quantize { layer_name: 'a' } nuq_config {}");
  for (const char* field :
       {"nuq_config.mapping_file", "override_layer_types[0].layer_type",
        "override_layer_types[0].calibration_config", "tensor_quantize[0].input_index"}) {
    EXPECT_NE(message.find(field), std::string::npos) << field << '\n' << message;
  }
}

TEST(SimpleConfigText, NumbersOutOfRangeAreAllReportedWithTheirPaths) {
  EXPECT_EQ(problems_of(R"(batch_num: 0
nuq_config { mapping_file: "m" nuq_quantize { num_steps: 8 num_of_iteration: 6 } }
common_config { arq_quantize { quant_bits: 16 } dmq_balancer { migration_strength: 0.1 }
  ifmr_quantize { search_range_start: -1 search_range_end: inf search_step: nan max_percentile: 0.5
                  min_percentile: 1.1 } }
override_layer_types { layer_type: "Conv" calibration_config { hfmg_quantize { num_of_bins: 4 } } }
override_layer_configs { layer_name: "a" calibration_config { arq_quantize { quant_bits: 5 } } }
tensor_quantize { layer_name: "pool1" input_index: 0 hfmg_quantize { num_of_bins: 0 } })"),
            R"(simple config quant.cfg has 13 errors:
  batch_num: found 0, expected [1, 4294967295]
  nuq_config.nuq_quantize.num_steps: found 8, expected one of {16, 32}
  nuq_config.nuq_quantize.num_of_iteration: found 6, expected [0, 5]
  common_config.arq_quantize.quant_bits: found 16, expected one of {6, 7, 8}
  common_config.ifmr_quantize.search_range_start: found -1, expected > 0
  common_config.ifmr_quantize.search_range_end: found inf, expected > 0
  common_config.ifmr_quantize.search_step: found nan, expected > 0
  common_config.ifmr_quantize.max_percentile: found 0.5, expected (0.5, 1]
  common_config.ifmr_quantize.min_percentile: found 1.1, expected (0.5, 1]
  common_config.dmq_balancer.migration_strength: found 0.1, expected [0.2, 0.8]
  override_layer_types[0].calibration_config.hfmg_quantize.num_of_bins: found 4, expected one of {1024, 2048, 4096, 8192}
  override_layer_configs[0].calibration_config.arq_quantize.quant_bits: found 5, expected one of {6, 7, 8}
  tensor_quantize[0].hfmg_quantize.num_of_bins: found 0, expected one of {1024, 2048, 4096, 8192})");
}

TEST(SimpleConfigText, NuqOfLayersNeedsTheMappingFile) {
  EXPECT_NE(problems_of("common_config { nuq_quantize {} }")
                .find("common_config.nuq_quantize: needs nuq_config with a mapping_file"),
            std::string::npos);
}

TEST(SimpleConfigText, HostileTextIsAnError) {
  EXPECT_NE(problems_of(std::string((16U << 20U) + 1, ' ')).find("16 MiB"), std::string::npos);
  EXPECT_NE(problems_of("skip_layers: '\xC0\xAF'").find("quant.cfg:1:15: byte 0xC0"),
            std::string::npos);
  EXPECT_NE(problems_of("skip_layers: '\\300'").find("skip_layers[0]: the text is not valid UTF-8"),
            std::string::npos);
  for (const char* open : {"a { ", "a: [", "a < ", "a: { ", "[a.b/c] { "}) {
    std::string deep;
    for (int i = 0; i < 200000; ++i) deep += open;
    EXPECT_FALSE(problems_of(deep).empty()) << open;
  }
}

}  // namespace
}  // namespace amct::config
