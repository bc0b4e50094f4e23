#include <algorithm>
#include <unordered_set>

#include "amct/base/error.h"
#include "amct/ir/graph.h"

namespace amct::ir {
namespace {

using Known = std::unordered_set<const Value*>;

void check_uses(const Node& node) {
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const Value* input = node.inputs()[i];
    if (input == nullptr) continue;
    const auto same = [&](const Use& use) { return use.node == &node && use.index == i; };
    if (std::ranges::count_if(input->uses(), same) != 1)
      raise(ErrorCode::kInvalidModel, "node '{}': input {} ('{}') is not listed among its uses",
            node.label(), i, input->name());
  }
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* output = node.outputs()[i];
    if (output == nullptr || output->producer() != &node || output->producer_index() != i)
      raise(ErrorCode::kInvalidModel, "node '{}': output {} does not point back to it",
            node.label(), i);
  }
}

void verify_into(const Graph& graph, Known known) {
  std::unordered_set<const Node*> present;
  for (const auto& node : graph.nodes()) present.insert(node.get());
  for (const Value* value : graph.values()) {
    if (value->graph() != &graph || graph.find(value->name()) != value)
      raise(ErrorCode::kInvalidModel, "value '{}' is not registered under its name", value->name());
    if (value->producer() != nullptr && !present.contains(value->producer()))
      raise(ErrorCode::kInvalidModel, "value '{}' has a producer outside its graph", value->name());
    if (value->constant() != nullptr || value->opaque_constant) known.insert(value);
    if (value->producer() != nullptr && value->constant() != nullptr)
      raise(ErrorCode::kInvalidModel, "value '{}' is both a constant and a node's output",
            value->name());
  }
  for (const Value* input : graph.inputs()) known.insert(input);
  for (const auto& node : graph.nodes()) {
    check_uses(*node);
    for (const Value* input : node->inputs())
      if (input != nullptr && !known.contains(input))
        raise(ErrorCode::kInvalidModel, "node '{}' reads '{}' before it is computed", node->label(),
              input->name());
    for (const Graph* inner : node->subgraphs()) {
      if (inner->parent_node() != node.get())
        raise(ErrorCode::kInvalidModel, "node '{}': its subgraph has another parent",
              node->label());
      verify_into(*inner, known);
    }
    for (const Value* output : node->outputs()) known.insert(output);
  }
  for (const Value* output : graph.outputs())
    if (output == nullptr || !known.contains(output))
      raise(ErrorCode::kInvalidModel, "graph output '{}' is never computed",
            output == nullptr ? "" : output->name());
}

}  // namespace

void verify(const Graph& graph) { verify_into(graph, {}); }

}  // namespace amct::ir
