#include "amct/passes/check_deploy.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "amct/base/error.h"
#include "amct/passes/lower_deploy.h"
#include "model_builder.h"

namespace amct::passes {
namespace {

using ir::Node;
using ir::Value;

std::uint64_t word(float scale) { return std::bit_cast<std::uint32_t>(scale); }

/// A sound deploy model by hand: a Conv, and a MatMul with its bias Add.
class CheckDeploy : public testing::Test {
 protected:
  CheckDeploy() {
    conv_ = build_.node("Conv", "conv",
                        {quant("conv.quant", build_.input("x", {1, 2, 4, 4})),
                         int8("w", {3, 2, 1, 1}), int32("b", 3)},
                        "conv_output0");
    conv_dequant_ = dequant("conv.dequant", conv_->output(), {word(0.5F), word(0.25F), word(1.0F)});
    build_.output(conv_dequant_);
    matmul_ =
        build_.node("MatMul", "mm",
                    {quant("mm.quant", build_.input("r", {3, 2})), int8("v", {2, 4})}, "product");
    add_ = build_.node("Add", "add", {matmul_->output(), int32("c", 4)}, "mm_output0");
    matmul_dequant_ = dequant("mm.dequant", add_->output(), {word(0.5F)});
    build_.output(matmul_dequant_);
  }

  Value* quant(const std::string& name, Value* input) {
    return build_
        .node("AscendQuant", name, {input}, name + "_out",
              {{"scale", 2.0F}, {"offset", -5.0F}, {"dst_type", "INT8"}})
        ->output();
  }
  Value* int8(const std::string& name, const std::vector<std::int64_t>& dims) {
    return build_.graph().add_constant(name, ir::Tensor::zeros(ir::DataType::kInt8, dims));
  }
  Value* int32(const std::string& name, std::int64_t count) {
    return build_.graph().add_constant(name, ir::Tensor::zeros(ir::DataType::kInt32, {count}));
  }
  Value* words(const std::vector<std::uint64_t>& values) {
    return build_.graph().add_constant(
        "param", ir::Tensor::of<std::uint64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  Node* dequant(const std::string& name, Value* input, const std::vector<std::uint64_t>& values) {
    return build_.node("AscendDequant", name, {input, words(values)}, name + "_out",
                       {{"dtype", std::int64_t{0}}});
  }
  /// An AscendQuant, then an AscendAntiQuant that undoes it.
  Node* anti_quant() {
    Node* node = build_.node("AscendAntiQuant", "anti", {quant("q", build_.graph().inputs()[0])},
                             "real", {{"scale", 0.5F}, {"offset", -5.0F}});
    build_.output(node);
    return node;
  }
  Node* conv_quant() const { return conv_->input(0)->producer(); }

  void expect(Severity severity, const std::string& node, const std::string& part) const {
    const auto findings = check_deploy(build_.model);
    for (const Finding& found : findings)
      if (found.severity == severity && found.node == node &&
          found.message.find(part) != std::string::npos)
        return;
    std::string all;
    for (const Finding& found : findings) all += found.node + ": " + found.message + "\n";
    ADD_FAILURE() << "no finding about '" << node << "' with '" << part << "' among:\n" << all;
  }
  void expect_error(const std::string& node, const std::string& part) const {
    expect(Severity::kError, node, part);
  }
  void expect_warning(const std::string& node, const std::string& part) const {
    expect(Severity::kWarning, node, part);
  }

  ModelBuilder build_;
  Node* conv_ = nullptr;
  Node* conv_dequant_ = nullptr;
  Node* matmul_ = nullptr;
  Node* add_ = nullptr;
  Node* matmul_dequant_ = nullptr;
};

TEST_F(CheckDeploy, FindsNothingInASoundModel) {
  anti_quant();
  EXPECT_EQ(check_deploy(build_.model), std::vector<Finding>{});
  EXPECT_NO_THROW(lower_deploy(build_.model));
}

TEST_F(CheckDeploy, LoweringRefusesWhatTheCheckRefuses) {
  conv_quant()->remove_attribute("scale");
  EXPECT_THROW(lower_deploy(build_.model), Error);
}

TEST_F(CheckDeploy, ModelNeedsQuantizedLayers) {
  ModelBuilder plain;
  const auto findings = check_deploy(plain.model);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, Severity::kError);
  EXPECT_NE(findings[0].message.find("not a deploy model"), std::string::npos);
}

TEST_F(CheckDeploy, OperatorSetMustBeOneTheCompilerKnows) {
  for (const std::int64_t opset : {8, 22}) {
    build_.model.opset_imports[""] = opset;
    EXPECT_TRUE(check_deploy(build_.model).empty());
  }
  for (const std::int64_t opset : {7, 23}) {
    build_.model.opset_imports[""] = opset;
    expect_error("", "in 8 to 22");
  }
}

TEST_F(CheckDeploy, ShapesShouldBeFixed) {
  build_.graph().inputs()[0]->type.shape->at(0) = {std::nullopt, "batch"};
  expect_warning("", "input 'x' has no fixed shape");
  build_.graph().inputs()[1]->type.shape.reset();
  expect_warning("", "input 'r' has no fixed shape");
}

TEST_F(CheckDeploy, OtherDomainsMayBeUnknown) {
  build_.node("Relu", "relu", {conv_dequant_->output()}, "relu_out")->domain = "com.example";
  expect_warning("relu", "domain 'com.example'");
  conv_quant()->domain = "amct.customop";
  expect_error("conv.quant", "in the default domain only");
}

TEST_F(CheckDeploy, QuantScaleIsAFiniteFloatWithinLimits) {
  Node* node = conv_quant();
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), 1e-8F, 1e8F}) {
    node->set_attribute("scale", scale);
    expect_error("conv.quant", "scale is ");
  }
  node->set_attribute("scale", std::int64_t{2});
  expect_error("conv.quant", "'scale' is of the wrong kind; expected FLOAT");
  node->remove_attribute("scale");
  expect_error("conv.quant", "'scale' is missing");
}

TEST_F(CheckDeploy, QuantOffsetIsAnIntegerOfItsType) {
  Node* node = conv_quant();
  for (const float offset : {-129.0F, 128.0F, 0.5F, std::numeric_limits<float>::quiet_NaN()}) {
    node->set_attribute("offset", offset);
    expect_error("conv.quant", "expected an integer from -128 to 127");
  }
  node->set_attribute("offset", 128.0F);
  node->set_attribute("dst_type", std::string("INT16"));
  EXPECT_TRUE(check_deploy(build_.model).empty());
  node->set_attribute("dst_type", std::string("INT4"));
  expect_error("conv.quant", "from -8 to 7");
  node->set_attribute("offset", std::int64_t{3});
  expect_error("conv.quant", "'offset' is of the wrong kind");
}

TEST_F(CheckDeploy, QuantDstTypeIsAKnownString) {
  Node* node = conv_quant();
  node->set_attribute("dst_type", std::string("INT8  "));
  EXPECT_TRUE(check_deploy(build_.model).empty());
  node->set_attribute("dst_type", std::string("UINT8"));
  expect_error("conv.quant", "dst_type is 'UINT8', which the compiler takes for INT8");
  node->set_attribute("dst_type", std::int64_t{2});
  expect_error("conv.quant", "'dst_type' is of the wrong kind");
  node->remove_attribute("dst_type");
  expect_warning("conv.quant", "the compiler takes INT8");
}

TEST_F(CheckDeploy, Int4NeedsAnEvenLastDimension) {
  conv_quant()->set_attribute("dst_type", std::string("INT4"));
  EXPECT_TRUE(check_deploy(build_.model).empty());
  build_.graph().inputs()[0]->type.shape->back() = {3, {}};
  expect_error("conv.quant", "even last dimension");
}

TEST_F(CheckDeploy, QuantModesAreKnown) {
  Node* node = conv_quant();
  node->set_attribute("round_mode", std::string("Floor"));
  EXPECT_TRUE(check_deploy(build_.model).empty());
  node->set_attribute("round_mode", std::string("Up"));
  expect_error("conv.quant", "round_mode is 'Up'");
  node->set_attribute("sqrt_mode", std::int64_t{2});
  expect_error("conv.quant", "sqrt_mode is 2; expected 0 to 1");
}

TEST_F(CheckDeploy, QuantReadsOneFloatTensor) {
  build_.graph().inputs()[0]->type.data_type = ir::DataType::kFloat16;
  EXPECT_TRUE(check_deploy(build_.model).empty());
  build_.graph().inputs()[0]->type.data_type = ir::DataType::kInt8;
  expect_error("conv.quant", "its input is int8");
  conv_quant()->set_input(0, nullptr);
  expect_error("conv.quant", "expected 1");
}

TEST_F(CheckDeploy, QuantFeedsLayersOnly) {
  build_.node("Relu", "relu", {conv_->input(0)}, "relu_out");
  expect_error("conv.quant", "read by Relu 'relu'");
  quant("lonely", build_.graph().inputs()[0]);
  expect_warning("lonely", "nothing reads its output");
}

TEST_F(CheckDeploy, WeightOfAQuantizedLayerIsInt8) {
  conv_->set_input(1, build_.random("float", {3, 2, 1, 1}));
  expect_error("conv", "its weight is float32; expected int8");
  conv_->set_input(1, int8("flat", {3}));
  expect_error("conv", "its weight has 1 dimensions");
  conv_->set_input(1, build_.graph().inputs()[1]);
  expect_error("conv", "its weight is not constant");
  conv_->set_input(1, nullptr);
  expect_error("conv", "its weight is missing");
}

TEST_F(CheckDeploy, Int8WeightNeedsQuantizedData) {
  conv_->set_input(0, build_.graph().inputs()[0]);
  expect_error("conv", "its weight is int8, but its data do not come from an AscendQuant");
}

TEST_F(CheckDeploy, TwoQuantizedInputsHaveNoOffset) {
  matmul_->set_input(1, quant("second", build_.graph().inputs()[1]));
  expect_error("mm", "both offsets must be 0");
}

TEST_F(CheckDeploy, BiasIsInt32PerChannel) {
  conv_->set_input(2, build_.random("float", {3}));
  expect_error("conv", "its bias is float32; expected int32");
  conv_->set_input(2, int32("long", 5));
  expect_error("conv", "its bias has 5 values; expected 3");
  conv_->set_input(2, build_.graph().inputs()[0]);
  expect_error("conv", "its bias is not constant");
  add_->set_input(1, build_.random("float", {4}));
  expect_error("add", "its bias is float32; expected int32");
}

TEST_F(CheckDeploy, GemmIsAPlainProduct) {
  matmul_->op_type = "Gemm";
  matmul_dequant_->set_input(0, matmul_->output());
  matmul_->set_attribute("transA", std::int64_t{1});
  expect_error("mm", "transA is set");
  matmul_->set_attribute("alpha", 2.0F);
  expect_error("mm", "alpha or beta is not 1");
  matmul_->set_attribute("transB", std::int64_t{1});
  expect_warning("mm", "transB is set");
  matmul_->set_input(1, int8("vector", {2}));
  expect_error("mm", "its weight has 1 dimensions");
  matmul_->set_attribute("alpha", std::string("two"));
  expect_error("mm", "alpha");
}

TEST_F(CheckDeploy, IntegerResultsGoToDequantOnly) {
  Node* relu = build_.node("Relu", "relu", {conv_->output()}, "relu_out");
  expect_error("conv", "read by Relu 'relu'; expected AscendDequant");
  relu->set_input(0, add_->output());
  expect_error("add", "read by AscendDequant only");
  build_.graph().add_output(conv_->output());
  expect_error("conv", "is an output of the graph");
  conv_dequant_->set_input(0, add_->output());
  build_.graph().set_outputs({});
  expect_warning("conv", "nothing reads its result");
}

TEST_F(CheckDeploy, DequantReadsALayerAndConstantWords) {
  conv_dequant_->set_input(0, build_.graph().inputs()[0]);
  expect_error("conv.dequant", "do not come from a layer");
  conv_dequant_->set_input(1, build_.random("floats", {3}));
  expect_error("conv.dequant", "is float32; expected a constant of type uint64");
  conv_dequant_->set_input(1, build_.graph().inputs()[1]);
  expect_error("conv.dequant", "is no constant");
  conv_dequant_->set_input(1, nullptr);
  expect_error("conv.dequant", "expected the int32 data and deq_scale");
}

TEST_F(CheckDeploy, DequantHasOneWordOrOneForEachChannel) {
  conv_dequant_->set_input(1, words({word(1), word(1)}));
  expect_error("conv.dequant", "has 2 values; expected 1 or 3");
  const std::vector<std::uint64_t> one = {word(1)};
  conv_dequant_->set_input(
      1, build_.graph().add_constant("scalar", ir::Tensor::of<std::uint64_t>({}, one)));
  expect_error("conv.dequant", "expected one dimension");
  matmul_dequant_->set_input(1, words({word(1), word(1), word(1)}));
  expect_error("mm.dequant", "has 3 values; expected 1 or 4");
}

TEST_F(CheckDeploy, DequantWordsFollowTheBitLayout) {
  const auto expect_word = [this](std::uint64_t value, const std::string& part) {
    conv_dequant_->set_input(1, words({word(1), word(1), value}));
    expect_error("conv.dequant", "deq_scale[2] is 0x");
    expect_error("conv.dequant", part);
  };
  expect_word(word(1) | std::uint64_t{1} << 48U, "bits 48 to 63");
  expect_word(word(1) | std::uint64_t{1} << 63U, "bits 48 to 63");
  expect_word(word(1) | std::uint64_t{0xFF} << 40U, "the weight offset in bits 40 to 47");
  expect_word(word(1) | std::uint64_t{17} << 32U, "exceeds 16");
  expect_word(word(1) | std::uint64_t{3} << 32U, "differs from that of the first");
  for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()})
    expect_word(word(bad), "finite and positive");
  conv_dequant_->set_input(1, words({word(1) | std::uint64_t{16} << 32U}));
  EXPECT_TRUE(check_deploy(build_.model).empty());
}

TEST_F(CheckDeploy, DequantAttributesAreIntegers) {
  conv_dequant_->set_attribute("dtype", std::int64_t{1});
  EXPECT_TRUE(check_deploy(build_.model).empty());
  conv_dequant_->set_attribute("dtype", std::int64_t{10});
  expect_error("conv.dequant", "dtype is 10; expected 0 to 1");
  conv_dequant_->set_attribute("dtype", std::string("FLOAT"));
  expect_error("conv.dequant", "'dtype' is of the wrong kind; expected INT");
  conv_dequant_->set_attribute("relu_flag", 1.0F);
  expect_error("conv.dequant", "'relu_flag' is of the wrong kind");
}

TEST_F(CheckDeploy, AntiQuantUndoesItsQuant) {
  Node* anti = anti_quant();
  anti->set_attribute("scale", 0.25F);
  expect_warning("anti", "does not undo AscendQuant 'q'");
  anti->set_attribute("scale", 0.5F);
  anti->set_attribute("offset", 5.0F);
  expect_warning("anti", "does not undo AscendQuant 'q'");
  anti->set_attribute("offset", 0.5F);
  expect_error("anti", "offset is 0.5; expected an integer");
  anti->set_input(0, build_.graph().inputs()[0]);
  expect_error("anti", "do not come from an AscendQuant");
}

TEST_F(CheckDeploy, AveragePoolHasOneScale) {
  Node* pool =
      build_.node("AveragePool", "pool", {quant("q", build_.graph().inputs()[0])}, "pooled");
  Node* node = dequant("pool.dequant", pool->output(), {word(1)});
  build_.output(node);
  EXPECT_TRUE(check_deploy(build_.model).empty());
  node->set_input(1, words({word(1), word(1)}));
  expect_error("pool.dequant", "has 2 values; expected 1");
}

}  // namespace
}  // namespace amct::passes
