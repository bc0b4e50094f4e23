#include "networks.h"

namespace amct::caffe {
namespace {

Definition parse(const std::string& text) { return Definition::parse(text, "net.prototxt"); }

constexpr const char* kNetwork = R"(name: "net"  # a comment
input: "data"
layer {
  name: "c"
  type: "Convolution"  # the one
  bottom: "data" top: "c"
  param { name: "w" lr_mult: 1 decay_mult: 1 }
  param { lr_mult: 2 decay_mult: 0 }
  loss_weight: 0.5
  propagate_down: false
  include { phase: TRAIN }
  convolution_param {
    num_output: 4
    bias_filler { type: "constant" }
    kernel_size: 3  # square
    pad: 1
    stride_h: 2 stride_w: 1
    weight_filler { type: "xavier" }
    my_setting: "kept"
  }
  my_param { a: [1, 2] }
}
layer { name: "own" type: "MyLayer" bottom: "c" top: "c" my_param < x: 'y'; > }
)";

TEST(Definition, ReadsAConvolution) {
  const Definition definition = parse(kNetwork);
  ASSERT_EQ(definition.layers().size(), 2U);
  const LayerText& layer = definition.layers()[0];
  EXPECT_TRUE(layer.is_convolution());
  EXPECT_EQ(layer.param_names, (std::vector<std::string>{"w", ""}));
  const Convolution convolution = definition.convolution(layer);
  EXPECT_EQ(convolution.num_output, 4);
  EXPECT_EQ(convolution.window.kernel_w, 3);
  EXPECT_EQ(convolution.window.stride_h, 2);
  EXPECT_EQ(convolution.window.stride_w, 1);
  EXPECT_EQ(convolution.window.pad_h, 1);
  EXPECT_TRUE(convolution.has_bias);
  EXPECT_FALSE(definition.layers()[1].is_convolution());
}

TEST(Definition, ReadsSettingsForEachAxis) {
  const Definition definition = parse(
      "layers { type: 4 name: 'c' bottom: 'a' top: 'b' param: 'w' convolution_param {"
      "num_output: 8 kernel_h: 5 kernel_w: 3 pad: 2 pad: 1 stride: [2, 1] dilation: 1 dilation: 3 "
      "group: 2 bias_term: false axis: -3 } }");
  ASSERT_TRUE(definition.layers()[0].is_convolution());
  EXPECT_EQ(definition.layers()[0].param_names[0], "w");
  const Convolution convolution = definition.convolution(definition.layers()[0]);
  EXPECT_EQ(convolution.window.kernel_h, 5);
  EXPECT_EQ(convolution.window.kernel_w, 3);
  EXPECT_EQ(convolution.window.pad_h, 2);
  EXPECT_EQ(convolution.window.pad_w, 1);
  EXPECT_EQ(convolution.window.stride_h, 2);
  EXPECT_EQ(convolution.window.stride_w, 1);
  EXPECT_EQ(convolution.dilation_h, 1);
  EXPECT_EQ(convolution.dilation_w, 3);
  EXPECT_EQ(convolution.groups, 2);
  EXPECT_FALSE(convolution.has_bias);
  EXPECT_EQ(convolution.refusal, "");
}

Convolution with_settings(const std::string& settings) {
  const Definition definition =
      parse("layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'b' convolution_param { " +
            settings + " } }");
  return definition.convolution(definition.layers()[0]);
}

TEST(Definition, SaysWhyAConvolutionStays) {
  expect_part(with_settings("num_output: 1 kernel_size: [3, 3, 3]").refusal, "3 dimensions");
  expect_part(with_settings("num_output: 1 kernel_size: 3 axis: 2").refusal, "axis 2");
}

TEST(Definition, RefusesBrokenConvolutions) {
  const auto expect_error = [](const char* settings, const char* part) {
    const std::string message = error_of([&] { with_settings(settings); });
    expect_part(message, "net.prototxt:1:");
    expect_part(message, part);
  };
  expect_error("kernel_size: 3", "'c' needs 'num_output'");
  expect_error("num_output: 1", "'c' needs 'kernel_size'");
  expect_error("num_output: 1 kernel_h: 3", "'c' needs 'kernel_size'");
  expect_error("num_output: 1 kernel_size: 3 kernel_h: 3", "cannot stand beside");
  expect_error("num_output: 1 kernel_size: 3 stride: 0", "'stride'");
  expect_error("num_output: 1 kernel_size: -3", "expected a whole number");
  expect_error("num_output: 1 num_output: 1 kernel_size: 3", "set a second time");
  expect_part(error_of([] { parse("layers { layer { name: 'c' type: 'conv' } }"); }), "V0");
  expect_part(error_of([] { parse("solver_mode: GPU"); }), "has no layers");
}

TEST(Split, WritesTwoLayersAndKeepsTheRest) {
  ConvolutionSplit split = example_split();
  split.first.param_name = "w_0";
  split.last.param_name = "w_1";
  const std::string text = parse(kNetwork).split({{0, split}});
  EXPECT_EQ(text, R"(name: "net"  # a comment
input: "data"
layer {
  name: "c_0"
  type: "Convolution"  # the one
  bottom: "data" top: "c_0"
  param { name: "w_0" lr_mult: 1 decay_mult: 1 }
  propagate_down: false
  include { phase: TRAIN }
  convolution_param {
    num_output: 1
    kernel_h: 3
    kernel_w: 1
    pad_h: 1
    pad_w: 0
    stride_h: 2
    stride_w: 1
    bias_term: false  # square
    weight_filler { type: "xavier" }
    my_setting: "kept"
  }
  my_param { a: [1, 2] }
}
layer {
  name: "c_1"
  type: "Convolution"  # the one
  bottom: "c_0" top: "c"
  param { name: "w_1" lr_mult: 1 decay_mult: 1 }
  param { lr_mult: 2 decay_mult: 0 }
  loss_weight: 0.5
  include { phase: TRAIN }
  convolution_param {
    num_output: 4
    bias_filler { type: "constant" }
    kernel_h: 1
    kernel_w: 3
    pad_h: 0
    pad_w: 1  # square
    weight_filler { type: "xavier" }
    my_setting: "kept"
  }
  my_param { a: [1, 2] }
}
layer { name: "own" type: "MyLayer" bottom: "c" top: "c" my_param < x: 'y'; > }
)");
}

TEST(Split, LeavesTextAloneWhenNothingIsSplit) { EXPECT_EQ(parse(kNetwork).split({}), kNetwork); }

TEST(Split, HandlesOldLayersAndOneLine) {
  const std::string text =
      parse(
          "layers { name: 'c' type: CONVOLUTION bottom: 'x' top: 'y' blobs_lr: 1 blobs_lr: 2 "
          "weight_decay: [1, 0] convolution_param { num_output: 4 kernel_size: 3 } }, layers { "
          "name: 'd' type: RELU }")
          .split({{0, example_split()}});
  EXPECT_EQ(text,
            "layers { name: \"c_0\" type: CONVOLUTION bottom: 'x' top: \"c_0\" blobs_lr: 1 "
            "weight_decay: [1] convolution_param { num_output: 1 kernel_h: 3 kernel_w: 1 pad_h: 1 "
            "pad_w: 0 stride_h: 2 stride_w: 1 bias_term: false } }\nlayers { name: \"c_1\" type: "
            "CONVOLUTION bottom: \"c_0\" top: 'y' blobs_lr: 1 blobs_lr: 2 weight_decay: [1, 0] "
            "convolution_param { num_output: 4 kernel_h: 1 kernel_w: 3 pad_h: 0 pad_w: 1 } }, "
            "layers { name: 'd' type: RELU }");
}

TEST(Split, HandlesLayersInAList) {
  const std::string text =
      parse(
          "layer: [{ name: 'c' type: 'Convolution' bottom: 'x' top: 'y' convolution_param: { "
          "num_output: 4 kernel_size: [3, 3] } }, { name: 'd' type: 'ReLU' }]")
          .split({{0, example_split()}});
  const Definition again = parse(text);
  ASSERT_EQ(again.layers().size(), 3U);
  EXPECT_EQ(again.layers()[0].name, "c_0");
  EXPECT_EQ(again.layers()[1].bottoms[0], "c_0");
  EXPECT_EQ(again.convolution(again.layers()[1]).window.kernel_w, 3);
  EXPECT_EQ(again.layers()[2].name, "d");
}

}  // namespace
}  // namespace amct::caffe
