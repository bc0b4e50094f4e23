#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "amct/base/error.h"
#include "amct/passes/fake_quant.h"
#include "amct/passes/layer_rewrite.h"
#include "amct/passes/quantize_weights.h"
#include "model_builder.h"

namespace amct::passes {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

LayerRequest request(const std::string& layer, float scale = 0.5F) {
  LayerRequest result;
  result.layer = layer;
  result.factor = {scale, 0};
  return result;
}

/// A 1x1 Conv "conv" with these weights, one for each output channel, and biases.
ModelBuilder conv_model(const std::vector<float>& weights, const std::vector<float>& bias) {
  ModelBuilder build;
  const auto channels = static_cast<std::int64_t>(weights.size());
  build.output(
      build.node("Conv", "conv",
                 {build.input("x", {1, 1, 4, 4}), build.constant("w", {channels, 1, 1, 1}, weights),
                  build.constant("b", {channels}, bias)},
                 "y"));
  return build;
}

LayerPlan plan_of(const ModelBuilder& build, const LayerRequest& wanted) {
  QuantPlan plan = make_plan(build.model, std::vector{wanted});
  EXPECT_TRUE(plan.skipped.empty()) << (plan.skipped.empty() ? "" : plan.skipped[0].reason);
  return plan.layers.at(0);
}

std::string skip_reason(const ModelBuilder& build, const LayerRequest& wanted) {
  const QuantPlan plan = make_plan(build.model, std::vector{wanted});
  EXPECT_TRUE(plan.layers.empty());
  if (plan.skipped.empty()) return "";
  EXPECT_EQ(plan.skipped[0].layer, wanted.layer);
  return plan.skipped[0].reason;
}

ErrorCode error_code(const ModelBuilder& build, const std::vector<LayerRequest>& requests) {
  try {
    make_plan(build.model, requests);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "make_plan threw nothing";
  return ErrorCode::kInternal;
}

/// Largest difference between the biases and what their integers stand for.
double bias_error(const LayerPlan& plan, const std::vector<float>& bias) {
  const auto scales = dequant_scales(plan);
  const auto quantized = plan.bias->values<std::int32_t>();
  double error = 0;
  for (std::size_t c = 0; c < bias.size(); ++c)
    error = std::max(
        error,
        std::abs(static_cast<double>(quantized[c]) * scales[scales.size() == 1 ? 0 : c] - bias[c]));
  return error;
}

TEST(MakePlan, RaisesTheWeightScaleOfAChannelWhoseBiasWouldOverflow) {
  const std::vector<float> bias = {1.0F, 1000.0F};
  const LayerPlan plan = plan_of(conv_model({0.5F, 0.0001F}, bias), request("conv", 1e-6F));
  EXPECT_EQ(plan.raised_channels, std::vector<std::int64_t>{1});
  EXPECT_FLOAT_EQ(plan.weight_scales[0], 0.5F / 127);
  EXPECT_GT(plan.weight_scales[1], 0.0001F / 127);
  EXPECT_LT(bias_error(plan, bias), 1e-3);
  EXPECT_LE(std::abs(plan.bias->values<std::int32_t>()[1]), 1 << 30);
  const auto weight = plan.weight->values<std::int8_t>();
  EXPECT_EQ(weight[0], 127);
  EXPECT_EQ(weight[1], std::nearbyint(0.0001F / plan.weight_scales[1]));
}

TEST(MakePlan, TinyWeightsKeepTheirBiasExactToATinyStep) {
  const std::vector<float> bias = {5.0F, -4.5F};
  const LayerPlan plan = plan_of(conv_model({1e-7F, -2e-7F}, bias), request("conv"));
  EXPECT_LT(bias_error(plan, bias), 1e-5);
}

TEST(MakePlan, AllZeroWeightsStayZeroWithPositiveScales) {
  const std::vector<float> bias = {0.0F, 3.0F};
  const LayerPlan plan = plan_of(conv_model({0.0F, 0.0F}, bias), request("conv"));
  for (const float scale : plan.weight_scales) EXPECT_TRUE(std::isfinite(scale) && scale > 0);
  for (const std::int8_t weight : plan.weight->values<std::int8_t>()) EXPECT_EQ(weight, 0);
  EXPECT_LT(bias_error(plan, bias), 1e-5);
}

TEST(MakePlan, NumbersThatAreNotFiniteSkipTheLayer) {
  for (const float bad : {std::nanf(""), kInfinity, -kInfinity}) {
    EXPECT_NE(skip_reason(conv_model({1, bad}, {0, 0}), request("conv")).find("NaN or infinite"),
              std::string::npos);
    EXPECT_EQ(skip_reason(conv_model({1, 2}, {bad, 0}), request("conv")),
              "its bias holds NaN or infinity");
  }
}

TEST(MakePlan, WeightsAndBiasesThatNoScaleCanHoldSkipTheLayer) {
  EXPECT_NE(skip_reason(conv_model({1, 3e38F}, {0, 0}), request("conv")), "");
  EXPECT_NE(skip_reason(conv_model({1, 1}, {0, 3e38F}), request("conv")).find("large biases need"),
            std::string::npos);
}

TEST(MakePlan, ActivationFactorsThatTheDeviceCannotHoldSkipTheLayer) {
  const ModelBuilder build = conv_model({1}, {0});
  for (const float scale : {0.0F, -1.0F, std::nanf(""), kInfinity, 1e-8F, 1e7F})
    EXPECT_NE(skip_reason(build, request("conv", scale)).find("its activation has scale"),
              std::string::npos);
  LayerRequest wanted = request("conv");
  wanted.factor.offset = 128;
  EXPECT_NE(skip_reason(build, wanted).find("offset 128"), std::string::npos);
  wanted.activation.num_bits = 16;
  EXPECT_EQ(plan_of(build, wanted).activation.offset, 128);
}

TEST(MakePlan, TakesTheScalesOfARecord) {
  const ModelBuilder build = conv_model({1.0F, -0.5F}, {0, 0});
  LayerRequest wanted = request("conv");
  wanted.weight_scales = {0.1F, 0.25F};
  LayerPlan plan = plan_of(build, wanted);
  EXPECT_EQ(plan.weight_scales, wanted.weight_scales);
  const auto weight = plan.weight->values<std::int8_t>();
  EXPECT_EQ(weight[0], 10);
  EXPECT_EQ(weight[1], -2);
  wanted.weight_scales = {0.25F};
  plan = plan_of(build, wanted);
  EXPECT_EQ(plan.weight->values<std::int8_t>()[0], 4);
  wanted.weight_scales = {1, 1, 1};
  EXPECT_EQ(skip_reason(build, wanted), "the record holds 3 weight scales; expected 1 or 2");
  for (const float bad : {0.0F, -1.0F, std::nanf(""), kInfinity}) {
    wanted.weight_scales = {0.1F, bad};
    EXPECT_NE(skip_reason(build, wanted).find("the record's weight scale"), std::string::npos);
  }
}

TEST(MakePlan, ChannelScalesOfConvTransposeFollowTheGroups) {
  ModelBuilder build;
  // [Cin 4, Cout/g 1, 1] in two groups: inputs 0 and 1 make output 0, inputs 2 and 3 output 1.
  build.output(build.node(
      "ConvTranspose", "up",
      {build.input("x", {1, 4, 5}), build.constant("w", {4, 1, 1}, {1, -2, 0.25F, 0.125F})}, "y",
      {{"group", std::int64_t{2}}}));
  const LayerPlan plan = plan_of(build, request("up"));
  EXPECT_EQ(plan.weight_scales, (std::vector<float>{2.0F / 128, 0.25F / 127}));
  const auto weight = plan.weight->values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(weight.begin(), weight.end()), (std::vector<int>{64, -128, 127, 64}));
}

TEST(MakePlan, MatMulHasOneScaleAndTakesTheBiasOfItsAdd) {
  ModelBuilder build;
  ir::Node* product = build.node(
      "MatMul", "mm", {build.input("x", {3, 2}), build.constant("w", {2, 2}, {1, 2, -3, 4})}, "p");
  build.output(
      build.node("Add", "add", {product->output(), build.constant("b", {2}, {1.0F, -1.0F})}, "y"));
  LayerRequest wanted = request("mm");
  wanted.weight.channel_wise = true;
  const LayerPlan plan = plan_of(build, wanted);
  EXPECT_EQ(plan.weight_scales, std::vector<float>{4.0F / 127});
  ASSERT_TRUE(plan.bias);
  EXPECT_EQ(plan.bias->values<std::int32_t>()[0], std::nearbyint(1.0 / (0.5 * (4.0F / 127))));
  wanted.weight_scales = {1.0F, 2.0F};
  EXPECT_EQ(skip_reason(build, wanted), "the record holds 2 weight scales; expected 1");
}

TEST(MakePlan, PlansInGraphOrderWhateverTheOrderOfRequests) {
  ModelBuilder build = conv_model({1}, {0});
  build.output(build.node("AveragePool", "pool", {build.graph().inputs()[0]}, "z"));
  const QuantPlan plan = make_plan(build.model, std::vector{request("pool"), request("conv")});
  ASSERT_EQ(plan.layers.size(), 2U);
  EXPECT_EQ(plan.layers[0].layer, "conv");
  EXPECT_EQ(plan.layers[1].layer, "pool");
  EXPECT_FALSE(plan.layers[1].weight);
  EXPECT_EQ(dequant_scales(plan.layers[1]), std::vector<float>{0.5F});
}

TEST(MakePlan, RefusesRequestsThatCannotBeMeant) {
  ModelBuilder build = conv_model({1}, {0});
  EXPECT_EQ(error_code(build, {request("nowhere")}), ErrorCode::kInvalidModel);
  EXPECT_EQ(error_code(build, {request("conv"), request("conv")}), ErrorCode::kInvalidConfig);
  LayerRequest bits = request("conv");
  bits.activation.num_bits = 4;
  EXPECT_EQ(error_code(build, {bits}), ErrorCode::kInvalidConfig);
  bits = request("conv");
  bits.weight.num_bits = 9;
  EXPECT_EQ(error_code(build, {bits}), ErrorCode::kInvalidConfig);
  build.graph().find_node("conv")->set_input(1, nullptr);
  EXPECT_EQ(error_code(build, {request("conv")}), ErrorCode::kUnsupported);
}

TEST(MakePlan, LeavesTheModelAsItIs) {
  const ModelBuilder build = conv_model({1.0F, 2.0F}, {3.0F, 4.0F});
  plan_of(build, request("conv"));
  EXPECT_EQ(build.model.graph->find("w")->constant()->values<float>()[1], 2.0F);
  EXPECT_EQ(build.operators(), "Conv");
}

TEST(InsertFakeQuant, RefusesAPlanOfAnotherModel) {
  ModelBuilder build = conv_model({1}, {0});
  QuantPlan plan;
  plan.layers.push_back(plan_of(build, request("conv")));
  plan.layers[0].layer = "gone";
  EXPECT_THROW(insert_fake_quant(build.model, plan), Error);
}

TEST(Transposed, ExchangesRowsAndColumns) {
  const std::vector<std::int8_t> values = {1, 2, 3, 4, 5, 6};
  const ir::Tensor turned = transposed(ir::Tensor::of<std::int8_t>({2, 3}, values));
  EXPECT_EQ(turned.dims(), (std::vector<std::int64_t>{3, 2}));
  const auto out = turned.values<std::int8_t>();
  EXPECT_EQ(std::vector<int>(out.begin(), out.end()), (std::vector<int>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace amct::passes
