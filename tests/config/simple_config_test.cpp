#include "amct/config/simple_config.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace amct::config
