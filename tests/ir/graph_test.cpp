#include "amct/ir/graph.h"

#include <gtest/gtest.h>

#include "amct/base/error.h"

namespace amct::ir {
namespace {

/// x -> Relu r -> Neg n -> y
struct Chain {
  Graph graph;
  Value* x = graph.add_value("x");
  Node* relu;
  Node* neg;
  Chain() {
    graph.add_input(x);
    relu = graph.insert_node("Relu", {x}, "r");
    neg = graph.add_node("Neg", {relu->output()}, {graph.add_value("y")});
    graph.add_output(neg->output());
  }
};

TEST(Graph, KeepsUsesWhileInputsChange) {
  Chain chain;
  verify(chain.graph);
  chain.neg->set_input(0, chain.x);
  EXPECT_EQ(chain.x->uses().size(), 2U);
  EXPECT_TRUE(chain.relu->output()->uses().empty());
  verify(chain.graph);
  EXPECT_EQ(chain.graph.remove_unused(), 1U);
  EXPECT_EQ(chain.graph.nodes().size(), 1U);
  verify(chain.graph);
}

TEST(Graph, RemovesUnusedNodesFromTheEnd) {
  Chain chain;
  Value* y = chain.neg->output();
  Node* identity = chain.graph.insert_node("Identity", {chain.x}, "other");
  chain.graph.remove_node(chain.neg);
  chain.graph.give_producer(y, identity);
  EXPECT_EQ(chain.graph.remove_unused(), 1U);
  EXPECT_EQ(chain.graph.find("r"), nullptr);
  verify(chain.graph);
}

TEST(Graph, MakesNamesUniqueAcrossSubgraphs) {
  Chain chain;
  auto inner = std::make_unique<Graph>();
  inner->add_output(inner->add_constant("deep", Tensor::scalar(1.0F)));
  inner->set_parent_node(chain.relu);
  chain.relu->set_attribute("body", std::move(inner));
  EXPECT_EQ(chain.graph.unique_name("deep"), "deep_1");
  EXPECT_EQ(chain.graph.unique_name("x"), "x_1");
  EXPECT_EQ(chain.relu->subgraphs()[0]->unique_name("x"), "x_1");
}

TEST(Graph, RefusesTwoValuesOfOneName) {
  Graph graph;
  graph.add_value("a");
  EXPECT_THROW(graph.add_value("a"), Error);
}

TEST(Graph, SortsAndReportsCycles) {
  Chain chain;
  chain.graph.move_before(chain.neg, chain.relu);
  EXPECT_THROW(verify(chain.graph), Error);
  chain.graph.sort();
  verify(chain.graph);
  chain.relu->set_input(0, chain.neg->output());
  try {
    chain.graph.sort();
    FAIL() << "a cycle must be refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    EXPECT_NE(std::string(error.what()).find("cycle"), std::string::npos);
  }
}

TEST(Graph, ClonesDeeplyAndSharesConstantData) {
  Chain chain;
  Value* weight = chain.graph.add_constant("w", Tensor::scalar(2.0F));
  chain.neg->set_input(1, weight);
  auto inner = std::make_unique<Graph>();
  Node* reader = inner->insert_node("Identity", {weight}, "inner");
  inner->add_output(reader->output());
  inner->set_parent_node(chain.relu);
  chain.relu->set_attribute("body", std::move(inner));

  const std::unique_ptr<Graph> copy = chain.graph.clone();
  verify(*copy);
  Value* twin = copy->find("w");
  ASSERT_NE(twin, nullptr);
  EXPECT_EQ(twin->uses().size(), 2U);
  EXPECT_EQ(twin->constant()->bytes().data(), weight->constant()->bytes().data());
  EXPECT_EQ(weight->uses().size(), 2U);
}

TEST(Graph, RenamesValues) {
  Chain chain;
  chain.graph.rename(chain.x, "input");
  EXPECT_EQ(chain.graph.find("x"), nullptr);
  EXPECT_EQ(chain.graph.find("input"), chain.x);
  EXPECT_THROW(chain.graph.rename(chain.x, "y"), Error);
}

}  // namespace
}  // namespace amct::ir
