#include <fmt/core.h>

#include "pass_fixture.h"

namespace amct::passes {
namespace {

/// Names in order, separated by blanks.
std::string node_names(const ir::Model& model) {
  std::string names;
  model.graph->for_each_graph([&](const ir::Graph& graph) {
    for (const auto& node : graph.nodes()) names += fmt::format("{} ", node->name);
  });
  return names;
}

ModelBuilder chain(const std::vector<std::string>& names) {
  ModelBuilder build;
  ir::Value* value = build.input("x", {2});
  for (std::size_t i = 0; i < names.size(); ++i)
    value = build.node("Relu", names[i], {value}, fmt::format("t{}", i))->output();
  build.graph().add_output(value);
  return build;
}

TEST(NameNodes, NamesByOperatorAndPosition) {
  ModelBuilder build = chain({"", "a", ""});
  EXPECT_EQ(run_checked(build, name_nodes()), 2U);
  EXPECT_EQ(node_names(build.model), "Relu_0 a Relu_2 ");
}

TEST(NameNodes, LetsTheFirstOwnerKeepARepeatedName) {
  ModelBuilder build = chain({"a", "a", "a_1", "a"});
  EXPECT_EQ(run_checked(build, name_nodes()), 2U);
  EXPECT_EQ(node_names(build.model), "a a_2 a_1 a_3 ");
}

TEST(NameNodes, DoesNotTakeANameThatStandsLater) {
  ModelBuilder build = chain({"", "Relu_0"});
  EXPECT_EQ(run_checked(build, name_nodes()), 1U);
  EXPECT_EQ(node_names(build.model), "Relu_0_1 Relu_0 ");
}

TEST(NameNodes, CountsSubgraphsIn) {
  ModelBuilder build = chain({"a", ""});
  ir::Node* branch = build.node("If", "a", {build.graph().find("t1")}, "y");
  auto body = std::make_unique<ir::Graph>();
  body->set_parent_node(branch);
  body->insert_node("Neg", {build.graph().find("t0")}, "n")->name = std::string("a");
  branch->set_attribute("then_branch", std::move(body));
  EXPECT_EQ(name_nodes()->run(build.model), 3U);
  EXPECT_EQ(node_names(build.model), "a Relu_1 a_1 a_2 ");
}

}  // namespace
}  // namespace amct::passes
