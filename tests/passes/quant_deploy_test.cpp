#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "amct/passes/deploy.h"
#include "amct/passes/eligibility.h"
#include "amct/passes/quantize_weights.h"

namespace amct::passes {
namespace {

/// Two Convs (1x1, two channels) on one input, with one bias between them.
ir::Model two_convs() {
  ir::Model model;
  model.ir_version = 8;
  model.opset_imports[""] = 17;
  ir::Graph& graph = *model.graph;
  ir::Value* x = graph.add_value("x");
  x->type.data_type = ir::DataType::kFloat;
  graph.add_input(x);
  const std::vector<float> bias = {5.0F, -4.5F};
  ir::Value* b = graph.add_constant("b", ir::Tensor::of<float>({2}, std::span(bias)));
  for (const char* name : {"a", "c"}) {
    const std::vector<float> weight = {0.5F, -1.0F, 0.0F, 0.0F};
    ir::Value* w = graph.add_constant("w", ir::Tensor::of<float>({2, 2, 1, 1}, std::span(weight)));
    ir::Value* y = graph.add_value(std::string(name) + "_out");
    graph.add_node("Conv", {x, w, b}, {y})->name = name;
    graph.add_output(y);
  }
  return model;
}

QuantPlan plan_of(const ir::Model& model, float scale_a, float scale_c) {
  std::vector<LayerRequest> requests(2);
  requests[0].layer = "a";
  requests[0].factor = {scale_a, 3};
  requests[1].layer = "c";
  requests[1].factor = {scale_c, 3};
  return make_plan(model, requests);
}

TEST(QuantDeploy, BiasHasNoOffsetTermAndAZeroChannelTakesTheScaleOfTheOthers) {
  const QuantPlan plan = plan_of(two_convs(), 0.5F, 0.25F);
  ASSERT_EQ(plan.layers.size(), 2U);
  EXPECT_TRUE(plan.skipped.empty());
  for (const LayerPlan& layer : plan.layers) {
    ASSERT_EQ(layer.weight_scales.size(), 2U);
    EXPECT_EQ(layer.weight_scales[0], layer.weight_scales[1]);
    const auto bias = layer.bias->values<std::int32_t>();
    const double step = double{layer.activation.scale} * layer.weight_scales[0];
    EXPECT_EQ(bias[0], static_cast<std::int32_t>(std::nearbyint(5.0 / step)));
    EXPECT_EQ(bias[1], static_cast<std::int32_t>(std::nearbyint(-4.5 / step)));
  }
}

TEST(QuantDeploy, SharedBiasIsSplitAndOutputNamesStay) {
  ir::Model model = two_convs();
  insert_deploy(model, plan_of(model, 0.5F, 0.25F));
  ir::verify(*model.graph);
  const ir::Node* a = model.graph->find_node("a");
  const ir::Node* c = model.graph->find_node("c");
  EXPECT_NE(a->input(2), c->input(2));
  EXPECT_EQ(a->input(1)->constant()->type(), ir::DataType::kInt8);
  EXPECT_EQ(a->input(2)->constant()->type(), ir::DataType::kInt32);
  const ir::Node* quant = a->input(0)->producer();
  EXPECT_EQ(quant->name, "a.quant");
  EXPECT_EQ(quant->attribute_float("scale", 0), 2.0F);
  EXPECT_EQ(quant->attribute_float("offset", 0), 3.0F);
  EXPECT_EQ(quant->attribute_string("dst_type", ""), "INT8");
  EXPECT_NE(quant, c->input(0)->producer());
  EXPECT_EQ(model.graph->outputs()[0]->name(), "a_out");
  const ir::Node* dequant = model.graph->outputs()[0]->producer();
  EXPECT_EQ(dequant->name, "a.dequant");
  EXPECT_EQ(dequant->input(0)->name(), "a_output0");
  EXPECT_EQ(dequant->input(1)->name(), "a.dequant.param");
  const auto bits = dequant->input(1)->constant()->values<std::uint64_t>();
  ASSERT_EQ(bits.size(), 2U);
  EXPECT_EQ(bits[0], std::bit_cast<std::uint32_t>(0.5F * (1.0F / 128.0F)));
}

TEST(QuantDeploy, EqualQuantizersOfOneTensorAreOneNode) {
  ir::Model model = two_convs();
  insert_deploy(model, plan_of(model, 0.5F, 0.5F));
  ir::verify(*model.graph);
  EXPECT_EQ(model.graph->find_node("a")->input(0), model.graph->find_node("c")->input(0));
}

TEST(QuantEligibility, SaysWhyALayerStaysInFloat) {
  ir::Model model = two_convs();
  ir::Node* node = model.graph->find_node("c");
  node->input(1)->clear_constant();
  const auto candidates = find_candidates(model);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].reason, "");
  EXPECT_NE(candidates[1].reason.find("its weight is computed at run time"), std::string::npos);
}

}  // namespace
}  // namespace amct::passes
