#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;

/// x -> Conv c [-> bias] -> BatchNormalization n -> y
struct ConvBnModel : ModelBuilder {
  ir::Node* conv;
  ir::Node* bn;
  ConvBnModel(const std::string& op, const Dims& x, const Dims& w, std::int64_t channels,
              std::int64_t groups, bool bias) {
    std::vector<ir::Value*> inputs = {input("x", x), random("w", w)};
    if (bias) inputs.push_back(random("b", {channels}));
    conv = node(op, "c", inputs, "c_out", {{"group", groups}, {"strides", Dims(x.size() - 2, 2)}});
    bn = batch_norm("n", conv->output(), channels, "y");
    output(bn);
  }
};

ConvBnModel plain() { return {"Conv", {1, 3, 5, 5}, {4, 3, 3, 3}, 4, 1, true}; }

struct Shape {
  const char* name;
  const char* op;
  Dims x, w;
  std::int64_t channels, groups;
};

class FuseConvBnShapes : public testing::TestWithParam<std::tuple<Shape, bool>> {};

TEST_P(FuseConvBnShapes, ComputesTheSame) {
  const auto& [shape, bias] = GetParam();
  ConvBnModel build(shape.op, shape.x, shape.w, shape.channels, shape.groups, bias);
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 1U);
  EXPECT_EQ(build.operators(), shape.op);
  EXPECT_EQ(build.graph().find("n.gamma"), nullptr) << "unused parameters go";
  EXPECT_NE(build.graph().find("w"), nullptr) << "the weight keeps its name";
  EXPECT_EQ(build.conv->name, "c");
}

INSTANTIATE_TEST_SUITE_P(
    All, FuseConvBnShapes,
    testing::Combine(
        testing::Values(
            Shape{"Conv1d", "Conv", {2, 3, 9}, {4, 3, 3}, 4, 1},
            Shape{"Conv2d", "Conv", {1, 3, 5, 5}, {4, 3, 3, 3}, 4, 1},
            Shape{"Conv3d", "Conv", {1, 2, 3, 4, 5}, {3, 2, 2, 2, 2}, 3, 1},
            Shape{"Grouped", "Conv", {1, 4, 5, 5}, {6, 2, 3, 3}, 6, 2},
            Shape{"Depthwise", "Conv", {1, 4, 5, 5}, {4, 1, 3, 3}, 4, 4},
            Shape{"Transpose1d", "ConvTranspose", {1, 3, 4}, {3, 5, 3}, 5, 1},
            Shape{"Transpose2d", "ConvTranspose", {1, 3, 4, 4}, {3, 5, 3, 2}, 5, 1},
            Shape{"TransposeGrouped", "ConvTranspose", {1, 4, 3, 3}, {4, 3, 2, 2}, 6, 2},
            Shape{"Transpose3d", "ConvTranspose", {1, 2, 2, 3, 2}, {2, 2, 2, 2, 2}, 2, 1}),
        testing::Bool()),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + (std::get<1>(info.param) ? "Bias" : "");
    });

TEST(FuseConvBn, LeavesListedLayers) {
  for (const char* name : {"c", "n"}) {
    ConvBnModel build = plain();
    EXPECT_EQ(run_checked(build, fuse_conv_bn({"other", name})), 0U);
  }
}

TEST(FuseConvBn, LeavesAConvThatSomethingElseReads) {
  ConvBnModel build = plain();
  build.output(build.node("Relu", "r", {build.conv->output()}, "z"));
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 0U);
}

TEST(FuseConvBn, LeavesAConvWhoseOutputIsAGraphOutput) {
  ConvBnModel build = plain();
  build.output(build.conv);
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 0U);
}

TEST(FuseConvBn, LeavesAConvThatASubgraphReads) {
  ConvBnModel build = plain();
  auto body = std::make_unique<ir::Graph>();
  ir::Node* inner = body->insert_node("Relu", {build.conv->output()}, "inner");
  body->add_output(inner->output());
  ir::Node* branch = build.node("If", "branch", {build.bn->output()}, "z");
  body->set_parent_node(branch);
  branch->set_attribute("then_branch", std::move(body));
  build.output(branch);
  EXPECT_EQ(fuse_conv_bn({})->run(build.model), 0U);
  ir::verify(build.graph());
}

TEST(FuseConvBn, LeavesTrainingForms) {
  ConvBnModel by_attribute = plain();
  by_attribute.bn->set_attribute("training_mode", std::int64_t{1});
  EXPECT_EQ(run_checked(by_attribute, fuse_conv_bn({})), 0U);

  ConvBnModel per_element = plain();
  per_element.bn->set_attribute("spatial", std::int64_t{0});
  EXPECT_EQ(run_checked(per_element, fuse_conv_bn({})), 0U);

  ModelBuilder outputs(9);
  ir::Node* conv = outputs.node(
      "Conv", "c", {outputs.input("x", {1, 1, 3}), outputs.random("w", {1, 1, 1})}, "t");
  std::vector<ir::Value*> inputs = {conv->output()};
  for (const char* name : {"g", "b", "m", "v"})
    inputs.push_back(outputs.random(name, {1}, 0.5F, 1.0F));
  std::vector<ir::Value*> results;
  for (const char* name : {"y", "mean", "var"}) results.push_back(outputs.graph().add_value(name));
  outputs.output(outputs.graph().add_node("BatchNormalization", inputs, results));
  EXPECT_EQ(fuse_conv_bn({})->run(outputs.model), 0U);
}

TEST(FuseConvBn, LeavesParametersThatAreNotConstant) {
  for (std::size_t index = 1; index < 5; ++index) {
    ConvBnModel build = plain();
    build.bn->set_input(index, build.input("free", {4}));
    EXPECT_EQ(fuse_conv_bn({})->run(build.model), 0U);
  }
  ConvBnModel build = plain();
  build.conv->set_input(1, build.input("free", {4, 3, 3, 3}));
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 0U);
}

TEST(FuseConvBn, LeavesNumbersThatHaveNoFoldedForm) {
  const float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float variance : {-0.01F, -5.0F, kNan}) {
    ConvBnModel build = plain();
    build.bn->set_input(4, build.constant("v", {4}, {1.0F, 1.0F, variance, 1.0F}));
    EXPECT_EQ(fuse_conv_bn({})->run(build.model), 0U);
  }
  ConvBnModel overflow = plain();
  overflow.conv->set_input(1, overflow.random("huge", {4, 3, 3, 3}, 2e38F, 3e38F));
  overflow.bn->set_input(1, overflow.constant("g", {4}, {9.0F, 9.0F, 9.0F, 9.0F}));
  EXPECT_EQ(fuse_conv_bn({})->run(overflow.model), 0U);
}

TEST(FuseConvBn, LeavesChannelsThatDoNotFit) {
  ConvBnModel build = plain();
  for (std::size_t i = 1; i < 5; ++i) build.bn->set_input(i, build.random("p", {3}, 0.5F, 1.0F));
  EXPECT_EQ(fuse_conv_bn({})->run(build.model), 0U);
}

TEST(FuseConvBn, GivesSharersOfAWeightTheirOwn) {
  ConvBnModel build = plain();
  ir::Node* other = build.node(
      "Conv", "d", {build.graph().find("x"), build.graph().find("w"), build.graph().find("b")}, "z",
      {{"strides", Dims{2, 2}}});
  build.output(other);
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 1U);
  EXPECT_EQ(other->input(1)->name(), "w");
  EXPECT_EQ(other->input(2)->name(), "b");
  EXPECT_EQ(build.conv->input(1)->name(), "w_1");
}

TEST(FuseConvBn, FoldsTheSharedParametersOfTwoNormalizations) {
  ConvBnModel build = plain();
  ir::Node* conv =
      build.node("Conv", "d", {build.graph().find("x"), build.random("w2", {4, 3, 3, 3})}, "d_out");
  std::vector<ir::Value*> inputs = build.bn->inputs();
  inputs[0] = conv->output();
  build.output(build.node("BatchNormalization", "n2", inputs, "z"));
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 2U);
  EXPECT_EQ(build.operators(), "Conv Conv");
}

TEST(FuseConvBn, AcceptsWeightsThatAreGraphInputsOfIrVersion3) {
  ConvBnModel build{"Conv", {1, 3, 5, 5}, {4, 3, 3, 3}, 4, 1, false};
  build.model.ir_version = 3;
  for (const char* name : {"w", "n.gamma", "n.beta", "n.mean", "n.variance"})
    build.graph().add_input(build.graph().find(name));
  EXPECT_EQ(run_checked(build, fuse_conv_bn({})), 1U);
  EXPECT_EQ(build.model.ir_version, 4) << "the new bias is no graph input";
}

}  // namespace
}  // namespace amct::passes
