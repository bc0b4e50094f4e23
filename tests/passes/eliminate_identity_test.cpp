#include <fmt/core.h>

#include "pass_fixture.h"

namespace amct::passes {
namespace {

TEST(EliminateIdentity, LetsReadersReadTheSource) {
  ModelBuilder build;
  ir::Node* copy = build.node("Identity", "i", {build.input("x", {2})}, "t");
  build.output(build.node("Relu", "r", {copy->output()}, "y"));
  build.output(build.node("Relu", "r2", {copy->output()}, "z"));
  EXPECT_EQ(run_checked(build, eliminate_identity()), 1U);
  EXPECT_EQ(build.operators(), "Relu Relu");
}

TEST(EliminateIdentity, GivesTheOutputsNameToTheProducer) {
  ModelBuilder build;
  ir::Node* relu = build.node("Relu", "r", {build.input("x", {2})}, "t");
  build.output(build.node("Identity", "i", {relu->output()}, "y"));
  build.output(build.node("Relu", "other", {relu->output()}, "z"));
  EXPECT_EQ(run_checked(build, eliminate_identity()), 1U);
  EXPECT_EQ(relu->output()->name(), "y");
  EXPECT_EQ(build.graph().find("t"), nullptr);
}

TEST(EliminateIdentity, RemovesWholeChains) {
  ModelBuilder build;
  ir::Value* value = build.node("Relu", "r", {build.input("x", {2})}, "t0")->output();
  for (int i = 1; i < 5; ++i)
    value = build.node("Identity", fmt::format("i{}", i), {value}, fmt::format("t{}", i))->output();
  build.graph().add_output(value);
  EXPECT_EQ(run_checked(build, eliminate_identity()), 4U);
  EXPECT_EQ(build.graph().find("t4")->producer()->name, "r");
}

TEST(EliminateIdentity, KeepsBothNamesWhenBothArePromised) {
  ModelBuilder build;
  ir::Value* x = build.input("x", {2});
  build.output(build.node("Identity", "from_input", {x}, "a"));
  ir::Node* relu = build.node("Relu", "r", {x}, "b");
  build.output(relu);
  build.output(build.node("Identity", "from_output", {relu->output()}, "c"));
  build.output(build.node("Identity", "from_constant", {build.random("k", {2})}, "d"));
  EXPECT_EQ(run_checked(build, eliminate_identity()), 0U);
}

TEST(EliminateIdentity, KeepsTheNodeThatMakesAnOuterValueASubgraphsOutput) {
  ModelBuilder build;
  ir::Node* relu = build.node("Relu", "r", {build.input("x", {2})}, "t");
  ir::Node* branch = build.node("If", "branch", {relu->output()}, "y");
  auto body = std::make_unique<ir::Graph>();
  body->set_parent_node(branch);
  ir::Node* copy = body->insert_node("Identity", {relu->output()}, "inner");
  body->add_output(copy->output());
  branch->set_attribute("then_branch", std::move(body));
  build.output(branch);
  EXPECT_EQ(eliminate_identity()->run(build.model), 0U);
  ir::verify(build.graph());
}

TEST(EliminateIdentity, RemovesDropoutOfInference) {
  for (const std::int64_t opset : {7, 10, 12, 13}) {
    ModelBuilder build(opset);
    ir::Node* dropout = build.node("Dropout", "d", {build.input("x", {2})}, "t");
    if (opset >= 12) dropout->set_input(1, build.constant("ratio", {}, {0.5F}));
    build.output(build.node("Relu", "r", {dropout->output()}, "y"));
    EXPECT_EQ(run_checked(build, eliminate_identity()), 1U);
    EXPECT_EQ(build.graph().find("ratio"), nullptr);
  }
}

TEST(EliminateIdentity, KeepsDropoutOfTrainingAndWithAMaskThatIsRead) {
  ModelBuilder training;
  ir::Node* dropout = training.node("Dropout", "d", {training.input("x", {2})}, "t");
  dropout->set_input(2, training.graph().add_constant("mode", ir::Tensor::scalar(true)));
  training.output(training.node("Relu", "r", {dropout->output()}, "y"));
  EXPECT_EQ(eliminate_identity()->run(training.model), 0U);
  dropout->set_input(2, training.graph().add_constant("off", ir::Tensor::scalar(false)));
  EXPECT_EQ(eliminate_identity()->run(training.model), 1U);

  ModelBuilder mask;
  ir::Value* t = mask.graph().add_value("t");
  ir::Value* m = mask.graph().add_value("m");
  mask.graph().add_node("Dropout", {mask.input("x", {2})}, {t, m});
  mask.output(mask.node("Relu", "r", {t}, "y"));
  mask.output(mask.node("Cast", "cast", {m}, "z"));
  EXPECT_EQ(eliminate_identity()->run(mask.model), 0U);
}

TEST(EliminateIdentity, LeavesOtherDomains) {
  ModelBuilder build;
  ir::Node* copy = build.node("Identity", "i", {build.input("x", {2})}, "t");
  copy->domain = "custom";
  build.output(build.node("Relu", "r", {copy->output()}, "y"));
  EXPECT_EQ(run_checked(build, eliminate_identity()), 0U);
}

}  // namespace
}  // namespace amct::passes
