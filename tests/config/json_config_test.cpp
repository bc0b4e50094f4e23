#include "amct/config/json_config.h"

#include <gtest/gtest.h>

#include "message_of.h"

namespace amct::config {
namespace {

constexpr std::string_view kExample = R"({
  "version": 1,
  "batch_num": 4,
  "activation_offset": true,
  "joint_quant": false,
  "do_fusion": true,
  "skip_fusion_layers": ["conv_stem"],
  "tensor_quantize": [
    {"layer_name": "pool1", "input_index": 0,
     "activation_quant_params": {"num_bits": 8, "act_algo": "hfmg", "num_of_bins": 2048, "asymmetric": false}}
  ],
  "conv1": {
    "quant_enable": true,
    "dmq_balancer_param": 0.5,
    "activation_quant_params": {"num_bits": 8, "max_percentile": 0.999999, "min_percentile": 0.999999,
      "search_range": [0.7, 1.3], "search_step": 0.01, "act_algo": "ifmr", "asymmetric": true},
    "weight_quant_params": {"num_bits": 8, "wts_algo": "arq_quantize", "channel_wise": true}
  },
  "fc1": {
    "quant_enable": true,
    "activation_quant_params": {"num_bits": 16, "act_algo": "hfmg", "num_of_bins": 4096, "asymmetric": false},
    "weight_quant_params": {"num_bits": 8, "wts_algo": "arq_quantize", "channel_wise": false}
  }
})";

QuantConfig example() {
  QuantConfig config;
  config.batch_num = 4;
  config.skip_fusion_layers = {"conv_stem"};
  config.tensor_quantize = {{"pool1", 0, {8, false, HfmgOptions{2048}}}};
  LayerConfig conv;
  conv.dmq_balancer_param = 0.5F;
  LayerConfig fc;
  fc.activation = {16, false, HfmgOptions{4096}};
  fc.weight.channel_wise = false;
  config.layers = {{"conv1", conv}, {"fc1", fc}};
  return config;
}

std::string problems_of(std::string_view text) {
  return message_of([&] { parse_json_config(text, "config.json"); });
}

// The only problem of a config that has this one layer entry.
std::string problem_in_layer(std::string_view entry) {
  const std::string message = problems_of("{\"conv1\": " + std::string(entry) + "}");
  constexpr std::string_view kTitle = "quantization config config.json has 1 error:\n  ";
  EXPECT_TRUE(message.starts_with(kTitle)) << message;
  return message.substr(std::min(message.size(), kTitle.size()));
}

std::string problem_in_activation(const std::string& params) {
  const std::string problem =
      problem_in_layer("{\"activation_quant_params\": {\"num_bits\": 8, " + params + "}}");
  constexpr std::string_view kPath = "conv1.activation_quant_params.";
  EXPECT_TRUE(problem.starts_with(kPath)) << problem;
  return problem.substr(std::min(problem.size(), kPath.size()));
}

std::string problem_in_weight(const std::string& params) {
  const std::string problem =
      problem_in_layer("{\"weight_quant_params\": {\"num_bits\": 8, " + params + "}}");
  constexpr std::string_view kPath = "conv1.weight_quant_params.";
  EXPECT_TRUE(problem.starts_with(kPath)) << problem;
  return problem.substr(std::min(problem.size(), kPath.size()));
}

TEST(JsonConfig, ReadsTheDocumentedExample) {
  EXPECT_EQ(parse_json_config(kExample, "config.json"), example());
}

TEST(JsonConfig, WritesThisText) {
  EXPECT_EQ(write_json_config(example()), R"({
    "version": 1,
    "batch_num": 4,
    "activation_offset": true,
    "joint_quant": false,
    "do_fusion": true,
    "skip_fusion_layers": [
        "conv_stem"
    ],
    "tensor_quantize": [
        {
            "layer_name": "pool1",
            "input_index": 0,
            "activation_quant_params": {
                "num_bits": 8,
                "act_algo": "hfmg",
                "num_of_bins": 2048,
                "asymmetric": false
            }
        }
    ],
    "conv1": {
        "quant_enable": true,
        "dmq_balancer_param": 0.5,
        "activation_quant_params": {
            "num_bits": 8,
            "max_percentile": 0.999999,
            "min_percentile": 0.999999,
            "search_range": [
                0.7,
                1.3
            ],
            "search_step": 0.01,
            "act_algo": "ifmr",
            "asymmetric": true
        },
        "weight_quant_params": {
            "num_bits": 8,
            "wts_algo": "arq_quantize",
            "channel_wise": true
        }
    },
    "fc1": {
        "quant_enable": true,
        "activation_quant_params": {
            "num_bits": 16,
            "act_algo": "hfmg",
            "num_of_bins": 4096,
            "asymmetric": false
        },
        "weight_quant_params": {
            "num_bits": 8,
            "wts_algo": "arq_quantize",
            "channel_wise": false
        }
    }
}
)");
}

TEST(JsonConfig, ReadsBackWhatItWrote) {
  QuantConfig config = example();
  EXPECT_EQ(parse_json_config(write_json_config(config), "c"), config);
  config.fakequant_precision_mode = FakequantPrecisionMode::kForceFp16Quant;
  config.layers[0].second.nuq = NuqOptions{16, 2};
  config.layers[0].second.weight.num_bits = 6;
  config.layers[0].second.activation.algorithm = IfmrOptions{0.51F, 1.0F, 0.1F, 3.3333333F, 1e-3F};
  config.layers[1].second.quant_enable = false;
  config.layers[1].second.channel_wise_inherited = true;
  config.layers[1].second.weight.channel_wise = true;
  config.layers[0].first = "a\"b/\xC3\xA9.c";
  EXPECT_EQ(parse_json_config(write_json_config(config), "c"), config);
  EXPECT_EQ(parse_json_config(write_json_config(QuantConfig{}), "c"), QuantConfig{});
}

TEST(JsonConfig, AbsentKeysHaveDefaults) {
  QuantConfig config = parse_json_config(R"({"fc": {}})", "c");
  ASSERT_EQ(config.layers.size(), 1U);
  LayerConfig layer;
  layer.channel_wise_inherited = true;
  EXPECT_EQ(config.layers[0].second, layer);
  config.layers.clear();
  EXPECT_EQ(config, QuantConfig{});
}

TEST(JsonConfig, LayersInheritActivationOffsetEvenIfItStandsLast) {
  const QuantConfig config = parse_json_config(
      R"({"a": {}, "b": {"activation_quant_params": {"num_bits": 8, "asymmetric": true}},
          "activation_offset": false})",
      "c");
  EXPECT_FALSE(config.find_layer("a")->activation.asymmetric);
  EXPECT_TRUE(config.find_layer("b")->activation.asymmetric);
  EXPECT_EQ(config.find_layer("c"), nullptr);
}

TEST(JsonConfig, AllViolationsAreReportedAtOnce) {
  EXPECT_EQ(problems_of(R"({"version": 2, "batch_num": 0, "do_fusion": 1, "batch_nums": 3,
      "conv1": {"quant": true, "activation_quant_params": {"num_bits": 4, "search_step": -1}},
      "version": 1})"),
            R"(quantization config config.json has 8 errors:
  version: the key occurs more than once
  version: found 2, expected 1
  batch_num: found 0, expected [1, 4294967295]
  do_fusion: found an integer, expected true or false
  batch_nums: unknown key; found an integer, expected an object if it names a layer
  conv1.activation_quant_params.num_bits: found 4, expected one of {8, 16}
  conv1.activation_quant_params.search_step: found -1, expected > 0
  conv1.quant: unknown key, expected quant_enable, dmq_balancer_param, activation_quant_params, weight_quant_params)");
}

TEST(JsonConfig, NumbersMustBeInRange) {
  EXPECT_EQ(problem_in_activation(R"("max_percentile": 0.5)"),
            "max_percentile: found 0.5, expected (0.5, 1]");
  EXPECT_EQ(problem_in_activation(R"("min_percentile": 1.5)"),
            "min_percentile: found 1.5, expected (0.5, 1]");
  EXPECT_EQ(problem_in_activation(R"("search_step": 0)"), "search_step: found 0, expected > 0");
  EXPECT_EQ(problem_in_activation(R"("search_step": 1e60)"),
            "search_step: found inf, expected > 0");
  EXPECT_EQ(problem_in_activation(R"("search_range": [0, 1.3])"),
            "search_range[0]: found 0, expected > 0");
  EXPECT_EQ(problem_in_activation(R"("act_algo": "hfmg", "num_of_bins": 1000)"),
            "num_of_bins: found 1000, expected one of {1024, 2048, 4096, 8192}");
  EXPECT_EQ(problem_in_weight(R"("wts_algo": "nuq_quantize", "num_steps": 17)"),
            "num_steps: found 17, expected one of {16, 32}");
  EXPECT_EQ(problem_in_weight(R"("wts_algo": "nuq_quantize", "num_of_iteration": 6)"),
            "num_of_iteration: found 6, expected [0, 5]");
  EXPECT_EQ(problem_in_layer(R"({"dmq_balancer_param": 0.9})"),
            "conv1.dmq_balancer_param: found 0.9, expected [0.2, 0.8]");
  EXPECT_EQ(problem_in_layer(R"({"weight_quant_params": {"num_bits": 16}})"),
            "conv1.weight_quant_params.num_bits: found 16, expected one of {6, 7, 8}");
  EXPECT_NE(problems_of(R"({"batch_num": -1})").find("batch_num: found -1, expected [1, "),
            std::string::npos);
}

TEST(JsonConfig, LimitsThemselvesAreInRange) {
  EXPECT_EQ(problems_of(R"({"a": {"dmq_balancer_param": 0.2}, "b": {"dmq_balancer_param": 0.8},
      "c": {"activation_quant_params": {"num_bits": 16, "max_percentile": 1, "min_percentile": 1.0,
            "search_range": [0.7, 1.3], "search_step": 0.6}}, "batch_num": 4294967295})"),
            "");
}

TEST(JsonConfig, SearchFieldsMustFitTogether) {
  EXPECT_EQ(problem_in_activation(R"("search_range": [1.3, 0.7])"),
            "search_range: the search range is [1.3, 0.7], expected its start below its end");
  EXPECT_EQ(problem_in_activation(R"("search_step": 0.61)"),
            "search_step: search_step is 0.61, expected at most 0.6, the length of the search "
            "range");
  EXPECT_NE(problem_in_activation(R"("search_step": 1e-9)").find("more than 100000 candidates"),
            std::string::npos);
  EXPECT_EQ(problem_in_activation(R"("search_range": [0.7])"),
            "search_range: found a list of 1 values, expected a list of two numbers");
  EXPECT_EQ(problem_in_activation(R"("search_range": 0.7)"),
            "search_range: found a real number, expected a list of two numbers");
}

TEST(JsonConfig, KeysOfOtherAlgorithmsAreRejected) {
  EXPECT_EQ(problem_in_activation(R"("act_algo": "hfmg", "search_step": 0.01)"),
            "search_step: belongs to ifmr, but act_algo is hfmg");
  EXPECT_EQ(problem_in_activation(R"("num_of_bins": 4096)"),
            "num_of_bins: belongs to hfmg, but act_algo is ifmr");
  EXPECT_EQ(problem_in_activation(R"("act_algo": "minmax")"),
            "act_algo: found \"minmax\", expected ifmr or hfmg");
  EXPECT_EQ(problem_in_weight(R"("num_steps": 16)"),
            "num_steps: belongs to nuq_quantize, but wts_algo is arq_quantize");
  EXPECT_EQ(problem_in_weight(R"("wts_algo": "arq")"),
            "wts_algo: found \"arq\", expected arq_quantize or nuq_quantize");
}

TEST(JsonConfig, TypesMustFit) {
  EXPECT_EQ(problem_in_activation(R"("asymmetric": "true")"),
            "asymmetric: found a string, expected true or false");
  EXPECT_EQ(problem_in_activation(R"("act_algo": "hfmg", "num_of_bins": 4096.0)"),
            "num_of_bins: found a real number, expected an integer");
  EXPECT_EQ(problem_in_activation(R"("search_step": null)"),
            "search_step: found null, expected a number");
  EXPECT_EQ(problem_in_activation(R"("act_algo": 1)"),
            "act_algo: found an integer, expected a string");
  EXPECT_EQ(problem_in_layer(R"({"weight_quant_params": []})"),
            "conv1.weight_quant_params: found a list, expected an object");
  EXPECT_NE(problems_of(R"({"skip_fusion_layers": ["a", 1]})")
                .find("skip_fusion_layers[1]: found an integer, expected a string"),
            std::string::npos);
  EXPECT_NE(problems_of(R"({"skip_fusion_layers": "a"})").find("expected a list of strings"),
            std::string::npos);
  EXPECT_NE(problems_of(R"({"tensor_quantize": {}})")
                .find("tensor_quantize: found an object, expected a list of objects"),
            std::string::npos);
  EXPECT_NE(problems_of(R"({"fakequant_precision_mode": "FP16"})")
                .find("expected DEFAULT or FORCE_FP16_QUANT"),
            std::string::npos);
  EXPECT_NE(problems_of("[]").find("found a list, expected an object"), std::string::npos);
}

TEST(JsonConfig, RequiredKeysMustBeThere) {
  EXPECT_EQ(problem_in_layer(R"({"activation_quant_params": {}})"),
            "conv1.activation_quant_params.num_bits: the key is missing");
  EXPECT_EQ(problem_in_layer(R"({"weight_quant_params": {}})"),
            "conv1.weight_quant_params.num_bits: the key is missing");
  EXPECT_EQ(problems_of(R"({"tensor_quantize": [{}]})"),
            "quantization config config.json has 2 errors:\n"
            "  tensor_quantize[0].layer_name: the key is missing\n"
            "  tensor_quantize[0].input_index: the key is missing");
}

TEST(JsonConfig, DuplicateKeysAreReportedAtEachLevel) {
  EXPECT_EQ(problem_in_layer(R"({"quant_enable": true, "quant_enable": true})"),
            "conv1.quant_enable: the key occurs more than once");
  EXPECT_EQ(problem_in_activation(R"("num_bits": 8)"), "num_bits: the key occurs more than once");
  EXPECT_EQ(problems_of(R"({"a": {}, "a": {}})"),
            "quantization config config.json has 1 error:\n  a: the key occurs more than once");
}

TEST(JsonConfig, BrokenSyntaxIsReportedWithLineAndColumn) {
  EXPECT_TRUE(
      problems_of("{\n  \"a\": {},\n  oops\n}").starts_with("config.json:3:3: not valid JSON"))
      << problems_of("{\n  \"a\": {},\n  oops\n}");
  EXPECT_TRUE(problems_of("").starts_with("config.json:1:1: not valid JSON"));
  EXPECT_TRUE(problems_of("{} {}").starts_with("config.json:1:4: not valid JSON"));
  EXPECT_TRUE(problems_of("{\"search_step\": NaN}").starts_with("config.json:1:17: not valid"));
}

TEST(JsonConfig, HostileTextIsAnError) {
  EXPECT_NE(problems_of(std::string((16U << 20U) + 1, ' ')).find("16 MiB"), std::string::npos);
  EXPECT_NE(problems_of(std::string(1'000'000, '[')).find("nested deeper than 16"),
            std::string::npos);
  EXPECT_NE(problems_of("{\"a\xFF\": {}}").find("config.json:1:4: byte 0xFF is not valid UTF-8"),
            std::string::npos);
  EXPECT_NE(problems_of(std::string_view("{}\0", 3)).find("zero byte"), std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 1'000'000; ++i) many += ",0";
  EXPECT_NE(problems_of(many + "]").find("more than 1000000 values"), std::string::npos);
  std::string wrong = "{";
  for (int i = 0; i < 1000; ++i) wrong += "\"k" + std::to_string(i) + "\": 0,";
  const std::string message = problems_of(wrong + "\"z\": 0}");
  EXPECT_NE(message.find("has 1001 errors"), std::string::npos);
  EXPECT_NE(message.find("and 901 more"), std::string::npos);
}

TEST(JsonConfig, LongLinesAreCutBetweenCharacters) {
  std::string name;
  for (int i = 0; i < 1500; ++i) name += "\xC3\xA9";
  const std::string message = problems_of("{\"x" + name + "\": 0}");
  const std::string cut = "x" + name.substr(0, 1998) + " ...";
  EXPECT_EQ(message, "quantization config config.json has 1 error:\n  " + cut);
}

TEST(JsonConfig, NamesThatCannotBeKeysAreNotWritten) {
  QuantConfig config;
  config.layers = {{"version", {}}};
  EXPECT_NE(message_of([&] { write_json_config(config); }).find("the key is reserved"),
            std::string::npos);
  config.layers = {{"a", {}}, {"a", {}}};
  EXPECT_NE(message_of([&] { write_json_config(config); }).find("used by another layer"),
            std::string::npos);
  config.layers = {{"\xFF", {}}};
  EXPECT_NE(message_of([&] { write_json_config(config); }).find("not valid UTF-8"),
            std::string::npos);
}

}  // namespace
}  // namespace amct::config
