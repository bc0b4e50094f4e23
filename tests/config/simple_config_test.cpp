#include "amct/config/simple_config.h"

#include <gtest/gtest.h>

#include "amct/base/log.h"
#include "amct/config/json_config.h"
#include "message_of.h"
#include "model.h"

namespace amct::config {
namespace {

TEST(Resolve, EmptyConfigGivesDefaults) {
  const QuantConfig config = resolve(SimpleConfig{}, sample_model());
  ASSERT_EQ(config.layers.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    LayerConfig layer;
    layer.weight.channel_wise = i < 3;
    layer.activation.asymmetric = i < 5;  // "attn" has no weight
    EXPECT_EQ(config.layers[i].second, layer) << config.layers[i].first;
  }
}

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

// Lines that the action logs as warnings.
std::vector<std::string> warnings_of(const auto& action) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) lines.emplace_back(line);
  });
  action();
  set_log_sink({});
  return lines;
}

QuantConfig resolved(std::string_view text) {
  return resolve(parse_simple_config(text, "quant.cfg"), sample_model());
}

std::string problems_of_resolving(std::string_view text) {
  const SimpleConfig simple = parse_simple_config(text, "quant.cfg");
  return message_of([&] { resolve(simple, sample_model()); });
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

TEST(Resolve, SpecialSettingsOverrideGeneralOnesFieldByField) {
  const QuantConfig config = resolved(R"(
activation_offset: false
common_config { arq_quantize { quant_bits: 7 channel_wise: false }
                ifmr_quantize { search_step: 0.1 max_percentile: 0.9 dst_type: INT16 } }
override_layer_types { layer_type: "Conv"
  calibration_config { ifmr_quantize { search_step: 0.2 asymmetric: true }
                       dmq_balancer { migration_strength: 0.3 } } }
override_layer_types { layer_type: "Gemm" calibration_config { hfmg_quantize { num_of_bins: 1024 } } }
override_layer_configs { layer_name: "conv1"
  calibration_config { arq_quantize { channel_wise: true } ifmr_quantize { search_step: 0.3 } } }
)");
  IfmrOptions ifmr;
  ifmr.max_percentile = 0.9F;
  ifmr.search_step = 0.3F;
  LayerConfig conv1;
  conv1.dmq_balancer_param = 0.3F;
  conv1.activation = {16, true, ifmr};
  conv1.weight = {7, true};
  EXPECT_EQ(*config.find_layer("conv1"), conv1);
  LayerConfig conv1d = conv1;
  ifmr.search_step = 0.2F;
  conv1d.activation = {16, true, ifmr};
  conv1d.weight = {8, false};
  EXPECT_EQ(*config.find_layer("conv1d"), conv1d);
  LayerConfig fc;
  fc.activation = {16, false, HfmgOptions{1024}};
  fc.weight = {8, false};
  EXPECT_EQ(*config.find_layer("fc"), fc);
  LayerConfig proj;
  ifmr.search_step = 0.1F;
  proj.activation = {8, false, ifmr};  // MatMul has no INT16
  proj.weight = {8, false};
  EXPECT_EQ(*config.find_layer("proj"), proj);
}

TEST(Resolve, GlobalSettingsAreKept) {
  const QuantConfig config = resolved(R"(
batch_num: 5 activation_offset: false joint_quant: true do_fusion: false
skip_fusion_layers: "relu1" fakequant_precision_mode: FORCE_FP16_QUANT
tensor_quantize { layer_name: "pool1" input_index: 0 }
tensor_quantize { layer_name: "sum" input_index: 1 hfmg_quantize { asymmetric: true dst_type: INT16 } }
)");
  EXPECT_EQ(config.batch_num, 5U);
  EXPECT_FALSE(config.activation_offset);
  EXPECT_TRUE(config.joint_quant);
  EXPECT_FALSE(config.do_fusion);
  EXPECT_EQ(config.skip_fusion_layers, std::vector<std::string>{"relu1"});
  EXPECT_EQ(config.fakequant_precision_mode, FakequantPrecisionMode::kForceFp16Quant);
  const std::vector<TensorQuantize> tensors{{"pool1", 0, {8, false, IfmrOptions{}}},
                                            {"sum", 1, {16, true, HfmgOptions{}}}};
  EXPECT_EQ(config.tensor_quantize, tensors);
}

TEST(Resolve, SkippedLayersAreListedAsDisabled) {
  const QuantConfig config =
      resolved("skip_layers: 'fc' skip_layer_types: 'MatMul' skip_layer_types: 'Conv2d'");
  std::vector<std::string> enabled;
  for (const auto& [name, layer] : config.layers) {
    if (layer.quant_enable) enabled.push_back(name);
  }
  EXPECT_EQ(config.layers.size(), 6U);
  EXPECT_EQ(enabled, (std::vector<std::string>{"conv1d", "up"}));
}

TEST(Resolve, SixAndSevenBitsAreForConvWithFourDimensions) {
  const QuantConfig by_type = resolved(
      "override_layer_types { layer_type: 'Conv' calibration_config { arq_quantize { quant_bits: 6 "
      "} } }");
  EXPECT_EQ(by_type.find_layer("conv1")->weight.num_bits, 6);
  EXPECT_EQ(by_type.find_layer("conv1d")->weight.num_bits, 8);
  EXPECT_EQ(problems_of_resolving(R"(
override_layer_types { layer_type: "Gemm" calibration_config { arq_quantize { quant_bits: 6 } } }
override_layer_configs { layer_name: "conv1d" calibration_config { arq_quantize { quant_bits: 7 } } })"),
            R"(the simple config, applied to the model, has 2 errors:
  override_layer_configs[0].calibration_config.arq_quantize.quant_bits: found 7 for layer "conv1d" (Conv), expected 8; 6 and 7 are for Conv with a 4-D weight
  override_layer_types[0].calibration_config.arq_quantize.quant_bits: found 6 for type Gemm, expected 8; 6 and 7 are for Conv with a 4-D weight)");
}

TEST(Resolve, ExplicitChannelWiseIsAnErrorWhereOneFactorServesAll) {
  const QuantConfig config = resolved("common_config { arq_quantize { channel_wise: true } }");
  EXPECT_TRUE(config.find_layer("conv1")->weight.channel_wise);
  EXPECT_FALSE(config.find_layer("fc")->weight.channel_wise);
  EXPECT_NE(problems_of_resolving("override_layer_configs { layer_name: 'fc' calibration_config { "
                                  "arq_quantize { channel_wise: true } } }")
                .find("override_layer_configs[0].calibration_config.arq_quantize.channel_wise: "
                      "found true for layer \"fc\" (Gemm)"),
            std::string::npos);
}

TEST(Resolve, UnknownNamesAreAllReportedWithSimilarOnes) {
  EXPECT_EQ(problems_of_resolving(R"(
skip_layers: "conv2" skip_layer_types: "Matmul" skip_fusion_layers: "zzzzzzzz"
override_layer_types { layer_type: "Convolution" calibration_config {} }
override_layer_configs { layer_name: "conv_1" calibration_config {} }
tensor_quantize { layer_name: "pool2" input_index: 0 })"),
            R"(the simple config, applied to the model, has 6 errors:
  skip_layers[0]: the model has no node "conv2"; similar: conv1, conv1d
  skip_layer_types[0]: the model has no operator type "Matmul"; similar: MatMul
  skip_fusion_layers[0]: the model has no node "zzzzzzzz"
  override_layer_configs[0].layer_name: the model has no node "conv_1"; similar: conv1, conv1d
  override_layer_types[0].layer_type: the model has no operator type "Convolution"
  tensor_quantize[0].layer_name: the model has no node "pool2"; similar: pool1)");
}

TEST(Resolve, KnownNamesWithoutEffectGiveAWarning) {
  QuantConfig config;
  const auto warnings = warnings_of([&] {
    config = resolved(R"(skip_layers: "relu1" skip_layer_types: "LSTM" skip_layer_types: "Relu"
override_layer_configs { layer_name: "pool1" calibration_config {} })");
  });
  EXPECT_EQ(config.layers.size(), 6U);
  ASSERT_EQ(warnings.size(), 4U);
  EXPECT_EQ(warnings[0],
            "skip_layers[0]: \"relu1\" (Relu) is not a layer that can be quantized; the entry has "
            "no effect");
  EXPECT_TRUE(warnings[1].starts_with("skip_layer_types[0]: the model has no layer of type"));
  EXPECT_TRUE(warnings[2].starts_with("skip_layer_types[1]: the model has no layer of type"));
  EXPECT_TRUE(warnings[3].starts_with("override_layer_configs[0].layer_name: \"pool1\" (MaxPool)"));
}

TEST(Resolve, TensorsMustBeInputsOfMaxPoolOrAdd) {
  EXPECT_EQ(problems_of_resolving(R"(
tensor_quantize { layer_name: "relu1" input_index: 0 }
tensor_quantize { layer_name: "pool1" input_index: 1 }
tensor_quantize { layer_name: "sum" input_index: 1 }
tensor_quantize { layer_name: "sum" input_index: 1 })"),
            R"(the simple config, applied to the model, has 3 errors:
  tensor_quantize[0].layer_name: "relu1" is of type Relu, expected MaxPool or Add
  tensor_quantize[1].input_index: found 1, but "pool1" has 1 input
  tensor_quantize[3]: input 1 of "sum" is listed more than once)");
}

TEST(Resolve, SearchFieldsOfDifferentLevelsMustFitTogether) {
  EXPECT_EQ(problems_of_resolving(R"(
common_config { ifmr_quantize { search_range_end: 2 } }
override_layer_types { layer_type: "Conv" calibration_config { ifmr_quantize { search_range_start: 1.5 } } }
override_layer_configs { layer_name: "conv1" calibration_config { ifmr_quantize { search_range_start: 3 } } }
tensor_quantize { layer_name: "pool1" input_index: 0 ifmr_quantize { search_step: 0.7 } })"),
            R"(the simple config, applied to the model, has 2 errors:
  layer "conv1": the search range is [3, 2], expected its start below its end
  tensor "pool1:0": search_step is 0.7, expected at most 0.6, the length of the search range)");
}

TEST(Resolve, LayersNamedLikeAKeyAreLeftOutWithAWarning) {
  ModelInfo model = sample_model();
  model.layers[0].name = "version";
  QuantConfig config;
  const auto warnings = warnings_of([&] { config = resolve(SimpleConfig{}, model); });
  EXPECT_EQ(config.layers.size(), 5U);
  EXPECT_EQ(warnings.size(), 1U);
}

TEST(Resolve, NuqSettingsReachTheirLayers) {
  const QuantConfig config = resolved(R"(
nuq_config { mapping_file: "m" }
override_layer_types { layer_type: "Conv" calibration_config { nuq_quantize { num_steps: 16 } } }
override_layer_configs { layer_name: "conv1" calibration_config { nuq_quantize { num_of_iteration: 2 } } }
override_layer_configs { layer_name: "conv1d" calibration_config { arq_quantize {} } })");
  EXPECT_EQ(config.find_layer("conv1")->nuq, (NuqOptions{16, 2}));
  EXPECT_FALSE(config.find_layer("conv1d")->nuq);
  EXPECT_FALSE(config.find_layer("fc")->nuq);
}

TEST(Resolve, MatMulIsInt8AndSymmetricWithoutWeight) {
  const QuantConfig config =
      resolved("common_config { ifmr_quantize { asymmetric: true dst_type: INT16 } }");
  EXPECT_EQ(config.find_layer("attn")->activation, (ActivationOptions{8, false, IfmrOptions{}}));
  EXPECT_EQ(config.find_layer("proj")->activation, (ActivationOptions{8, true, IfmrOptions{}}));
  EXPECT_EQ(config.find_layer("fc")->activation, (ActivationOptions{16, true, IfmrOptions{}}));
  EXPECT_EQ(problems_of_resolving(R"(
override_layer_configs { layer_name: "attn" calibration_config { ifmr_quantize { asymmetric: true } } }
override_layer_configs { layer_name: "proj" calibration_config { hfmg_quantize { dst_type: INT16 } } })"),
            R"(the simple config, applied to the model, has 2 errors:
  override_layer_configs[0].calibration_config.ifmr_quantize.asymmetric: found true for layer "attn" (MatMul), which has no constant weight; expected false
  override_layer_configs[1].calibration_config.hfmg_quantize.dst_type: found INT16 for layer "proj" (MatMul), expected INT8)");
}

TEST(Validate, MatMulIsInt8AndSymmetricWithoutWeight) {
  QuantConfig config = parse_json_config(R"({"attn": {}})", "c");
  EXPECT_EQ(warnings_of([&] { validate(config, sample_model()); }).size(), 1U);
  EXPECT_FALSE(config.find_layer("attn")->activation.asymmetric);
  config.layers[0].second.activation.num_bits = 16;
  EXPECT_NE(message_of([&] {
              validate(config, sample_model());
            }).find("attn.activation_quant_params.num_bits: found 16"),
            std::string::npos);
}

TEST(Validate, AcceptsWhatResolveMade) {
  QuantConfig config = resolve(SimpleConfig{}, sample_model());
  const QuantConfig before = config;
  validate(config, sample_model());
  EXPECT_EQ(config, before);
}

TEST(Validate, SettlesInheritedChannelWise) {
  QuantConfig config = parse_json_config(R"({"conv1": {}, "fc": {}})", "c");
  validate(config, sample_model());
  EXPECT_TRUE(config.find_layer("conv1")->weight.channel_wise);
  EXPECT_FALSE(config.find_layer("fc")->weight.channel_wise);
  EXPECT_FALSE(config.find_layer("fc")->channel_wise_inherited);
}

TEST(Validate, ReportsAllThatDoesNotFitTheModel) {
  QuantConfig config = parse_json_config(R"({"skip_fusion_layers": ["conv9"],
"tensor_quantize": [{"layer_name": "conv1", "input_index": 0}],
"conv": {}, "fc": {"weight_quant_params": {"num_bits": 6, "channel_wise": true}}})",
                                         "c");
  EXPECT_EQ(message_of([&] { validate(config, sample_model()); }),
            R"(the quantization config, applied to the model, has 5 errors:
  conv: the model has no node "conv"; similar: conv1, conv1d
  fc.weight_quant_params.channel_wise: found true for a layer of type Gemm, which has one factor for all of its weight; expected false
  fc.weight_quant_params.num_bits: found 6 for a layer of type Gemm, expected 8; 6 and 7 are for Conv with a 4-D weight
  skip_fusion_layers[0]: the model has no node "conv9"; similar: conv1, conv1d
  tensor_quantize[0].layer_name: "conv1" is of type Conv, expected MaxPool or Add)");
}

TEST(Validate, WarnsOfLayersThatCannotBeQuantized) {
  QuantConfig config = parse_json_config(R"({"relu1": {}})", "c");
  const auto warnings = warnings_of([&] { validate(config, sample_model()); });
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("relu1: \"relu1\" (Relu) is not a layer"));
}

}  // namespace
}  // namespace amct::config
