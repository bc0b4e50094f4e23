#include "amct/passes/raise_opset.h"

#include "amct/base/error.h"
#include "amct/ir/text.h"
#include "pass_fixture.h"

namespace amct::passes {
namespace {

/// Expects one refusal that names the node and holds `cause`, and an unchanged model.
void expect_refused(ModelBuilder& build, const std::string& cause) {
  const std::string before = ir::print(build.model);
  const auto refused = raise_opset(build.model, 13);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_NE(refused[0].find("'bad'"), std::string::npos) << refused[0];
  EXPECT_NE(refused[0].find(cause), std::string::npos) << refused[0];
  EXPECT_EQ(ir::print(build.model), before);
}

TEST(RaiseOpset, LeavesNewerModels) {
  ModelBuilder build(15);
  build.output(build.node("Softmax", "s", {build.input("x", {2, 3})}, "y"));
  EXPECT_TRUE(raise_opset(build.model, 13).empty());
  EXPECT_EQ(build.model.opset(), 15);
  EXPECT_THROW(raise_opset(build.model, 18), Error);
}

TEST(RaiseOpset, NamesWhatHasNoEqualForm) {
  ModelBuilder spatial(7);
  ir::Node* bn = spatial.batch_norm("bad", spatial.input("x", {1, 2, 3}), 2, "y");
  bn->set_attribute("spatial", std::int64_t{0});
  // A node that could be converted must not be, either.
  spatial.output(spatial.node("Softmax", "s", {bn->output()}, "z"));
  expect_refused(spatial, "spatial");

  ModelBuilder shrink(10);
  shrink.output(shrink.node(
      "Resize", "bad",
      {shrink.input("x", {1, 1, 4, 4}), shrink.constant("s", {4}, {1, 1, 0.5F, 1})}, "y"));
  expect_refused(shrink, "shrinks");

  ModelBuilder free(10);
  free.output(
      free.node("Resize", "bad", {free.input("x", {1, 1, 4, 4}), free.input("s", {4})}, "y"));
  expect_refused(free, "not constant");
}

TEST(RaiseOpset, RefusesModelsThatAreTooOld) {
  ModelBuilder build(6);
  build.output(build.node("Relu", "r", {build.input("x", {2})}, "y"));
  EXPECT_EQ(raise_opset(build.model, 13).size(), 1U);
  EXPECT_EQ(build.model.opset(), 6);
}

TEST(RaiseOpset, ConvertsSubgraphs) {
  ModelBuilder build(11);
  ir::Value* x = build.input("x", {2, 1});
  ir::Node* branch = build.node("If", "if", {x}, "y");
  auto body = std::make_unique<ir::Graph>();
  body->set_parent_node(branch);
  ir::Node* squeeze = body->insert_node("Squeeze", {x}, "inner");
  squeeze->set_attribute("axes", std::vector<std::int64_t>{1});
  body->add_output(squeeze->output());
  branch->set_attribute("then_branch", std::move(body));
  build.output(branch);
  EXPECT_TRUE(raise_opset(build.model, 13).empty());
  ir::verify(build.graph());
  ASSERT_NE(squeeze->input(1), nullptr);
  EXPECT_EQ(ir::to_int64(*squeeze->input(1)->constant()), std::vector<std::int64_t>{1});
}

TEST(RaiseOpset, LeavesOtherDomains) {
  ModelBuilder build(9);
  ir::Node* node = build.node("Upsample", "u", {build.input("x", {2})}, "y");
  node->domain = "custom";
  build.output(node);
  EXPECT_TRUE(raise_opset(build.model, 13).empty());
  EXPECT_EQ(node->op_type, "Upsample");
}

}  // namespace
}  // namespace amct::passes
