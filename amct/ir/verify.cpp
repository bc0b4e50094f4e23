#include <functional>
#include <unordered_set>

#include "amct/base/error.h"
#include "amct/ir/graph.h"

namespace amct::ir {
namespace {

struct ListedUse {
  const Value* value;
  Use use;
  bool operator==(const ListedUse&) const = default;
};

struct HashUse {
  std::size_t operator()(const ListedUse& listed) const {
    const std::size_t pointers =
        std::hash<const void*>()(listed.value) * 31 + std::hash<const void*>()(listed.use.node);
    return pointers * 31 + listed.use.index;
  }
};

class Verifier {
 public:
  void verify(const Graph& graph) {
    std::vector<const Value*> mine = declare(graph);
    for (const auto& node : graph.nodes()) {
      check_edges(*node);
      for (const Value* input : node->inputs())
        if (input != nullptr && !known_.contains(input))
          raise(ErrorCode::kInvalidModel, "node '{}' reads '{}' before it is computed",
                node->label(), input->name());
      for (const Graph* inner : node->subgraphs()) {
        if (inner->parent_node() != node.get())
          raise(ErrorCode::kInvalidModel, "node '{}': its subgraph has another parent",
                node->label());
        verify(*inner);
      }
      for (const Value* output : node->outputs()) add(output, mine);
    }
    for (const Value* output : graph.outputs())
      if (output == nullptr || !known_.contains(output))
        raise(ErrorCode::kInvalidModel, "graph output '{}' is never computed",
              output == nullptr ? "" : output->name());
    // Not visible outside.
    for (const Value* value : mine) known_.erase(value);
  }

 private:
  void add(const Value* value, std::vector<const Value*>& mine) {
    if (known_.insert(value).second) mine.push_back(value);
  }

  /// Checks the values by themselves; returns those that are there before the first node.
  std::vector<const Value*> declare(const Graph& graph) {
    std::unordered_set<const Node*> present;
    for (const auto& node : graph.nodes()) present.insert(node.get());
    std::vector<const Value*> mine;
    for (const Value* value : graph.values()) {
      if (value->graph() != &graph || graph.find(value->name()) != value)
        raise(ErrorCode::kInvalidModel, "value '{}' is not registered under its name",
              value->name());
      if (value->producer() != nullptr && !present.contains(value->producer()))
        raise(ErrorCode::kInvalidModel, "value '{}' has a producer outside its graph",
              value->name());
      if (value->producer() != nullptr && value->constant() != nullptr)
        raise(ErrorCode::kInvalidModel, "value '{}' is both a constant and a node's output",
              value->name());
      for (const Use& use : value->uses())
        if (!uses_.insert({value, use}).second)
          raise(ErrorCode::kInvalidModel, "value '{}' lists a use twice", value->name());
      if (value->constant() != nullptr || value->opaque_constant) add(value, mine);
    }
    for (const Value* input : graph.inputs()) add(input, mine);
    return mine;
  }

  void check_edges(const Node& node) const {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* input = node.inputs()[i];
      // Only compared: the set holds uses of nodes that may be changed, this one included.
      auto* self = const_cast<Node*>(&node);
      if (input != nullptr && !uses_.contains({input, {self, i}}))
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

  std::unordered_set<const Value*> known_;
  std::unordered_set<ListedUse, HashUse> uses_;
};

}  // namespace

void verify(const Graph& graph) { Verifier().verify(graph); }

}  // namespace amct::ir
