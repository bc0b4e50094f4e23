#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;

/// x -> `layer_op` c (3 output channels) -> `op` m by `operand` -> y
struct ConvOperandModel : ModelBuilder {
  ir::Node* layer;
  ir::Node* last;
  ConvOperandModel(const std::string& layer_op, const std::string& op, const Dims& operand,
                   bool bias) {
    const bool flat = layer_op == "Gemm" || layer_op == "MatMul";
    std::vector<ir::Value*> inputs = {input("x", flat ? Dims{2, 4} : Dims{2, 4, 5, 5})};
    if (flat)
      inputs.push_back(random("w", {4, 3}));
    else
      inputs.push_back(random("w", layer_op == "Conv" ? Dims{3, 4, 3, 3} : Dims{4, 3, 3, 3}));
    if (bias) inputs.push_back(random("b", {3}));
    layer = node(layer_op, "c", inputs, "t");
    last = node(op, "m", {layer->output(), random("k", operand)}, "y");
    output(last);
  }
};

TEST(FuseConvAdd, MakesTheConstantTheBias) {
  for (const bool bias : {false, true}) {
    for (const char* op : {"Conv", "ConvTranspose"}) {
      ConvOperandModel build(op, "Add", {1, 3, 1, 1}, bias);
      EXPECT_EQ(run_checked(build, fuse_conv_add({})), 1U);
      EXPECT_EQ(build.operators(), op);
      EXPECT_EQ(build.layer->output()->name(), "y");
    }
    ConvOperandModel gemm("Gemm", "Add", {3}, bias);
    EXPECT_EQ(run_checked(gemm, fuse_conv_add({})), 1U);
  }
}

TEST(FuseConvMul, ScalesWeightAndBias) {
  for (const bool bias : {false, true}) {
    for (const char* op : {"Conv", "ConvTranspose"}) {
      ConvOperandModel build(op, "Mul", {3, 1, 1}, bias);
      EXPECT_EQ(run_checked(build, fuse_conv_mul({})), 1U);
      EXPECT_EQ(build.operators(), op);
      EXPECT_EQ(build.layer->inputs().size(), bias ? 3U : 2U) << "no bias appears";
    }
  }
}

TEST(FuseConvOperand, LeavesWhatDoesNotBelong) {
  ConvOperandModel matmul("MatMul", "Add", {3}, false);
  EXPECT_EQ(run_checked(matmul, fuse_conv_add({})), 0U);
  ConvOperandModel gemm("Gemm", "Mul", {3}, false);
  EXPECT_EQ(run_checked(gemm, fuse_conv_mul({})), 0U);
  ConvOperandModel columns("Conv", "Add", {3}, false);
  EXPECT_EQ(run_checked(columns, fuse_conv_add({})), 0U) << "added along the width";
  ConvOperandModel listed("Conv", "Add", {3, 1, 1}, false);
  EXPECT_EQ(run_checked(listed, fuse_conv_add({"c"})), 0U);
  ConvOperandModel exposed("Conv", "Add", {3, 1, 1}, false);
  exposed.output(exposed.layer);
  EXPECT_EQ(run_checked(exposed, fuse_conv_add({})), 0U);
  ConvOperandModel huge("Conv", "Mul", {3, 1, 1}, false);
  huge.last->set_input(1, huge.constant("inf", {1}, {std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(fuse_conv_mul({})->run(huge.model), 0U);
}

}  // namespace
}  // namespace amct::passes
