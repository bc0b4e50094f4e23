#include "amct/passes/eligibility.h"

#include <gtest/gtest.h>

#include "model_builder.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::Value;

/// One Conv, ConvTranspose, Gemm, MatMul and AveragePool on inputs of known shape, all quantizable.
struct Layers {
  ModelBuilder build;
  Value* image = build.input("image", {1, 4, 8, 8});
  Value* rows = build.input("rows", {3, 6});
  ir::Node* conv = add("Conv", {image, build.random("cw", {6, 4, 3, 3}), build.random("cb", {6})});
  ir::Node* up = add("ConvTranspose", {image, build.random("uw", {4, 5, 2, 2})});
  ir::Node* gemm = add("Gemm", {rows, build.random("gw", {6, 2}), build.random("gb", {2})});
  ir::Node* matmul = add("MatMul", {rows, build.random("mw", {6, 2})});
  ir::Node* pool = add("AveragePool", {image});

  ir::Node* add(const std::string& op_type, const std::vector<Value*>& inputs) {
    ir::Node* node = build.node(op_type, op_type, inputs, op_type + "_out");
    build.output(node);
    return node;
  }
  std::string reason(const ir::Node* node) const {
    for (const Candidate& candidate : find_candidates(build.model))
      if (candidate.layer == node->name) return candidate.reason;
    return "no candidate";
  }
  void weight(ir::Node* node, const std::vector<std::int64_t>& dims) {
    node->set_input(1, build.random("other", dims));
  }
};

void expect_reason(const std::string& reason, const std::string& part) {
  EXPECT_NE(reason.find(part), std::string::npos) << "'" << reason << "' lacks '" << part << "'";
}

TEST(Eligibility, DescribesEveryLayerInGraphOrder) {
  const Layers layers;
  const auto found = find_candidates(layers.build.model);
  ASSERT_EQ(found.size(), 5U);
  const std::vector<std::string> names = {"Conv", "ConvTranspose", "Gemm", "MatMul", "AveragePool"};
  const std::vector<int> ranks = {4, 4, 2, 2, 0};
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].layer, names[i]);
    EXPECT_EQ(found[i].op_type, names[i]);
    EXPECT_EQ(found[i].reason, "");
    EXPECT_EQ(found[i].weight_rank, ranks[i]);
    EXPECT_EQ(found[i].activation, i == 2 || i == 3 ? "rows" : "image");
    EXPECT_EQ(found[i].per_channel_allowed, i < 2);
  }
}

TEST(Eligibility, ConvTakesThreeToFiveDimensionsAndNoDilationInDepth) {
  Layers layers;
  layers.conv->set_input(2, nullptr);
  for (const std::vector<std::int64_t>& dims :
       {std::vector<std::int64_t>{6, 4, 3}, {6, 4, 3, 3}, {6, 4, 3, 3, 3}}) {
    layers.weight(layers.conv, dims);
    EXPECT_EQ(layers.reason(layers.conv), "");
  }
  layers.conv->set_attribute("dilations", std::vector<std::int64_t>{1, 2, 2});
  EXPECT_EQ(layers.reason(layers.conv), "");
  layers.conv->set_attribute("dilations", std::vector<std::int64_t>{2, 1, 1});
  expect_reason(layers.reason(layers.conv), "dilated along depth");
  layers.weight(layers.conv, {6, 4, 1, 1, 1, 1});
  expect_reason(layers.reason(layers.conv), "6 dimensions; 3, 4 or 5");
}

TEST(Eligibility, GroupsMustDivideTheChannels) {
  Layers layers;
  for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{5}}) {
    layers.conv->set_attribute("group", groups);
    layers.up->set_attribute("group", groups);
    expect_reason(layers.reason(layers.conv), "groups do not divide");
    expect_reason(layers.reason(layers.up), "groups do not divide");
  }
}

TEST(Eligibility, ConvTransposeTakesThreeOrFourDimensionsAndNoDilation) {
  Layers layers;
  layers.up->set_attribute("dilations", std::vector<std::int64_t>{1, 1});
  EXPECT_EQ(layers.reason(layers.up), "");
  layers.up->set_attribute("dilations", std::vector<std::int64_t>{1, 2});
  expect_reason(layers.reason(layers.up), "dilation 1 only");
  layers.weight(layers.up, {4, 5, 2, 2, 2});
  expect_reason(layers.reason(layers.up), "5 dimensions; 3 or 4");
}

TEST(Eligibility, GemmTakesPlainProductsOnly) {
  Layers layers;
  layers.gemm->set_attribute("alpha", 2.0F);
  expect_reason(layers.reason(layers.gemm), "alpha or beta is not 1");
  layers.gemm->set_attribute("alpha", 1.0F);
  layers.gemm->set_attribute("beta", 0.5F);
  expect_reason(layers.reason(layers.gemm), "alpha or beta is not 1");
  layers.gemm->remove_attribute("beta");
  layers.gemm->set_attribute("transA", std::int64_t{1});
  expect_reason(layers.reason(layers.gemm), "transpose its input in front of it");
}

TEST(Eligibility, MatMulTakesAConstantMatrixSecond) {
  Layers layers;
  layers.weight(layers.matmul, {1, 6, 2});
  expect_reason(layers.reason(layers.matmul), "reshape it to 2");
  layers.weight(layers.matmul, {6, 2});
  layers.matmul->set_input(0, layers.build.input("vector", {6}));
  expect_reason(layers.reason(layers.matmul), "reshape it to 2 dimensions");
  layers.matmul->set_input(0, layers.build.random("first", {2, 6}));
  layers.matmul->set_input(1, layers.rows);
  expect_reason(layers.reason(layers.matmul), "exchange the inputs");
}

TEST(Eligibility, WeightMustBeAConstantInFloat32) {
  Layers layers;
  layers.conv->set_input(1, layers.image);
  expect_reason(layers.reason(layers.conv), "export the model with constant weights");
  layers.conv->set_input(1, nullptr);
  expect_reason(layers.reason(layers.conv), "its weight is missing");
  Value* half = layers.build.graph().add_constant(
      "half", ir::Tensor::zeros(DataType::kFloat16, {6, 4, 3, 3}));
  layers.conv->set_input(1, half);
  expect_reason(layers.reason(layers.conv), "float16; convert the model to float32");
  layers.conv->set_input(1, layers.build.random("empty", {0, 4, 3, 3}));
  expect_reason(layers.reason(layers.conv), "its weight is empty");
  half->clear_constant();
  half->opaque_constant = true;
  layers.conv->set_input(1, half);
  expect_reason(layers.reason(layers.conv), "sparse");
}

TEST(Eligibility, BiasMustBeOneConstantPerOutputChannel) {
  Layers layers;
  layers.conv->set_input(2, layers.rows);
  expect_reason(layers.reason(layers.conv), "export the model with a constant bias");
  layers.conv->set_input(2, layers.build.random("five", {5}));
  expect_reason(layers.reason(layers.conv), "not one value per output channel");
  layers.gemm->set_input(2, layers.build.random("matrix", {3, 2}));
  expect_reason(layers.reason(layers.gemm), "not one value per output channel");
  Value* half =
      layers.build.graph().add_constant("half", ir::Tensor::zeros(DataType::kFloat16, {6}));
  layers.conv->set_input(2, half);
  expect_reason(layers.reason(layers.conv), "its bias is float16");
}

TEST(Eligibility, ActivationMustBeAFloat32Tensor) {
  Layers layers;
  layers.image->type.data_type = DataType::kFloat16;
  expect_reason(layers.reason(layers.conv), "its input is float16; convert the model");
  expect_reason(layers.reason(layers.pool), "its input is float16; convert the model");
  layers.conv->set_input(0, layers.build.random("constant", {1, 4, 8, 8}));
  expect_reason(layers.reason(layers.conv), "its input is a constant");
  layers.conv->set_input(0, nullptr);
  expect_reason(layers.reason(layers.conv), "its first input is missing");
}

TEST(Eligibility, UndeclaredTypeInAMixedModelKeepsAveragePoolInFloat) {
  Layers layers;
  layers.image->type.data_type = DataType::kUndefined;
  EXPECT_EQ(layers.reason(layers.pool), "");
  layers.build.node("Cast", "cast", {layers.rows}, "half", {{"to", std::int64_t{10}}});
  expect_reason(layers.reason(layers.pool), "run ONNX shape inference");
  EXPECT_EQ(layers.reason(layers.conv), "") << "a float32 weight tells the type";
}

TEST(Eligibility, QuantizedModelsAreNotQuantizedAgain) {
  Layers layers;
  ir::Node* dequantize =
      layers.build.node("DequantizeLinear", "dq", {layers.rows, layers.rows}, "real");
  layers.gemm->set_input(0, dequantize->output());
  expect_reason(layers.reason(layers.gemm), "its input is already quantized");
  layers.gemm->set_input(0, layers.rows);
  layers.gemm->set_input(1, dequantize->output());
  expect_reason(layers.reason(layers.gemm), "its weight is already quantized");
}

TEST(Eligibility, RecurrentLayersAndSubgraphsStayInFloat) {
  Layers layers;
  const ir::Node* lstm = layers.add("LSTM", {layers.image});
  expect_reason(layers.reason(lstm), "recurrent");
  auto inner = std::make_unique<ir::Graph>();
  ir::Node* conv =
      inner->add_node("Conv", {layers.image, layers.conv->input(1)}, {inner->add_value("inner")});
  conv->name = "inner_conv";
  inner->add_output(conv->output());
  ir::Node* branch = layers.build.node("If", "choose", {layers.image}, "chosen");
  inner->set_parent_node(branch);
  branch->set_attribute("then_branch", std::move(inner));
  expect_reason(layers.reason(conv), "lies inside a subgraph of If 'choose'");
}

TEST(FindBiasAdd, TakesAConstantPerColumnFromTheOnlyReader) {
  Layers layers;
  const auto view = [&] { return *ir::view_onnx_layer(*layers.matmul); };
  layers.build.graph().set_outputs({});
  ir::Node* add = layers.build.node(
      "Add", "add", {layers.build.random("b", {2}), layers.matmul->output()}, "sum");
  EXPECT_EQ(find_bias_add(view()), add);
  EXPECT_EQ(bias_of_add(*add), add->input(0));
  for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{1}, {3, 2}, {2, 1}, {}}) {
    add->set_input(0, layers.build.random("b", dims));
    EXPECT_EQ(find_bias_add(view()), nullptr);
  }
  add->set_input(0, layers.build.random("b", {1, 2}));
  EXPECT_EQ(find_bias_add(view()), add);
  layers.build.node("Relu", "second", {layers.matmul->output()}, "relu");
  EXPECT_EQ(find_bias_add(view()), nullptr);
}

}  // namespace
}  // namespace amct::passes
