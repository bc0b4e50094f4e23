#include <gtest/gtest.h>

#include "amct/config/json_config.h"
#include "amct/config/simple_config.h"
#include "message_of.h"
#include "model.h"

namespace amct::config {
namespace {

QuantConfig resolved(std::string_view text) {
  return resolve(parse_simple_config(text, "quant.cfg"), sample_model());
}

std::string problems_of_resolving(std::string_view text) {
  const SimpleConfig simple = parse_simple_config(text, "quant.cfg");
  return message_of([&] { resolve(simple, sample_model()); });
}

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
