#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;

/// x -> BatchNormalization n (3 channels) -> Mul m or Add a by `operand` -> y
struct BnOperandModel : ModelBuilder {
  ir::Node* bn;
  ir::Node* last;
  BnOperandModel(const std::string& op, const Dims& x, const Dims& operand, bool left = false) {
    bn = batch_norm("n", input("x", x), 3, "t");
    ir::Value* number = random("k", operand);
    std::vector<ir::Value*> inputs = {bn->output(), number};
    if (left) std::swap(inputs[0], inputs[1]);
    last = node(op, "m", inputs, "y");
    output(last);
  }
};

PassPtr pass_for(const std::string& op) { return op == "Mul" ? fuse_bn_mul({}) : fuse_bn_add({}); }

struct Operand {
  const char* name;
  Dims x, operand;
  bool fused;
};

class FuseBnOperand : public testing::TestWithParam<std::tuple<const char*, Operand>> {};

TEST_P(FuseBnOperand, FoldsWhatActsPerChannel) {
  const auto& [op, shape] = GetParam();
  for (const bool left : {false, true}) {
    BnOperandModel build(op, shape.x, shape.operand, left);
    EXPECT_EQ(run_checked(build, pass_for(op)), shape.fused ? 1U : 0U);
    if (shape.fused) {
      EXPECT_EQ(build.operators(), "BatchNormalization");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FuseBnOperand,
    testing::Combine(testing::Values("Mul", "Add"),
                     testing::Values(Operand{"Scalar", {2, 3, 4, 4}, {}, true},
                                     Operand{"One", {2, 3, 4, 4}, {1}, true},
                                     Operand{"Ones", {2, 3, 4, 4}, {1, 1, 1, 1}, true},
                                     Operand{"Channels", {2, 3, 4, 4}, {3, 1, 1}, true},
                                     Operand{"ChannelsBatch", {2, 3, 4, 4}, {1, 3, 1, 1}, true},
                                     Operand{"Rank2", {2, 3}, {3}, true},
                                     Operand{"Rank2Batch", {2, 3}, {1, 3}, true},
                                     Operand{"Rank3", {2, 3, 5}, {3, 1}, true},
                                     Operand{"LastAxis", {2, 3, 4, 3}, {3}, false},
                                     Operand{"Square", {2, 3, 3}, {3, 3}, false},
                                     Operand{"Batch", {3, 3, 4}, {3, 1, 1}, false},
                                     Operand{"RaisesRank", {2, 3, 4}, {1, 1, 1, 1}, false},
                                     Operand{"Full", {2, 3, 4}, {2, 3, 4}, false})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + std::get<1>(info.param).name;
    });

TEST(FuseBnMul, NeedsTheRankForAnythingButANumber) {
  BnOperandModel channels("Mul", {2, 3, 4, 4}, {3, 1, 1});
  channels.graph().find("x")->type.shape.reset();
  EXPECT_EQ(fuse_bn_mul({})->run(channels.model), 0U);
  BnOperandModel number("Mul", {2, 3, 4, 4}, {1});
  number.graph().find("x")->type.shape.reset();
  EXPECT_EQ(fuse_bn_mul({})->run(number.model), 1U);
}

TEST(FuseBnMul, LeavesListedSharedAndExposedNodes) {
  for (const std::string op : {"Mul", "Add"}) {
    for (const char* name : {"n", "m"}) {
      BnOperandModel listed(op, {2, 3, 4, 4}, {3, 1, 1});
      EXPECT_EQ(run_checked(listed, op == "Mul" ? fuse_bn_mul({name}) : fuse_bn_add({name})), 0U);
    }
    BnOperandModel shared(op, {2, 3, 4, 4}, {3, 1, 1});
    shared.output(shared.node("Relu", "r", {shared.bn->output()}, "z"));
    EXPECT_EQ(run_checked(shared, pass_for(op)), 0U);
    BnOperandModel exposed(op, {2, 3, 4, 4}, {3, 1, 1});
    exposed.output(exposed.bn);
    EXPECT_EQ(run_checked(exposed, pass_for(op)), 0U);
    BnOperandModel square(op, {2, 3, 4, 4}, {3, 1, 1});
    square.last->set_input(1, square.bn->output());
    EXPECT_EQ(run_checked(square, pass_for(op)), 0U);
  }
}

TEST(FuseBnMul, LeavesAFactorThatCallersMayReplace) {
  BnOperandModel build("Mul", {2, 3, 4, 4}, {3, 1, 1});
  build.graph().add_input(build.graph().find("k"));
  EXPECT_EQ(run_checked(build, fuse_bn_mul({})), 0U);
  build.model.ir_version = 3;
  EXPECT_EQ(run_checked(build, fuse_bn_mul({})), 1U);
}

TEST(FuseBnMul, CopiesParametersThatAnotherNormalizationReads) {
  BnOperandModel build("Mul", {2, 3, 4, 4}, {3, 1, 1});
  std::vector<ir::Value*> inputs = build.bn->inputs();
  ir::Node* other = build.node("BatchNormalization", "n2", inputs, "z");
  build.output(other);
  EXPECT_EQ(run_checked(build, fuse_bn_mul({})), 1U);
  EXPECT_EQ(other->input(1)->name(), "n.gamma");
  EXPECT_EQ(build.bn->input(1)->name(), "n.gamma_1");
}

}  // namespace
}  // namespace amct::passes
