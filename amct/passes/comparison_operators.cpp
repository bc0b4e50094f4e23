#include "amct/passes/comparison_operators.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "amct/passes/calibration_operators.h"
#include "amct/passes/fake_quant.h"
#include "amct/passes/layer_rewrite.h"

namespace amct::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

/// Layers have no subgraphs as attributes.
void copy_attributes(const Node& from, Node& to) {
  for (const ir::Attribute& attribute : from.attributes)
    std::visit(
        [&](const auto& data) {
          using Data = std::decay_t<decltype(data)>;
          if constexpr (std::is_copy_constructible_v<Data> &&
                        !std::is_same_v<Data, std::vector<std::unique_ptr<Graph>>>)
            to.set_attribute(attribute.name, data);
        },
        attribute.data);
}

/// A second node that reads and computes the same.
Node* copy_node(Graph& graph, const Node& node, const std::string& hint) {
  Node* copy = add_named(graph, node.op_type, node.inputs(), hint, nullptr);
  copy->domain = node.domain;
  copy_attributes(node, *copy);
  copy->output()->type = node.output()->type;
  return copy;
}

/// A layer and its copy, by what computes their results.
struct Pair {
  std::string layer;
  Value* original = nullptr;
  Value* copy = nullptr;
};

Pair copy_layer(Graph& graph, LayerPlan& plan) {
  const LayerSlots slots = find_slots(graph, plan);
  const std::string layer = plan.layer;
  Node* copy = copy_node(graph, *slots.view.node, layer + ".copy");
  plan.layer = copy->name;
  if (slots.tail == slots.view.node) return {layer, slots.tail->output(), copy->output()};
  Node* add = copy_node(graph, *slots.tail, layer + ".copy.bias");
  add->set_input(1 - slots.bias_index, copy->output());
  return {layer, slots.tail->output(), add->output()};
}

}  // namespace

void insert_comparisons(ir::Model& model, const QuantPlan& plan, const std::string& id) {
  Graph& graph = *model.graph;
  QuantPlan copies;
  copies.layers = plan.layers;
  const std::vector<Value*> outputs = graph.outputs();
  std::vector<Pair> pairs;
  for (LayerPlan& layer : copies.layers) {
    pairs.push_back(copy_layer(graph, layer));
    graph.add_output(pairs.back().copy);  // for now: what nothing reads would be removed
  }
  insert_fake_quant(model, copies);
  graph.set_outputs(outputs);
  for (const Pair& pair : pairs) {
    Node* node =
        add_named(graph, "Compare", {pair.original, pair.copy}, pair.layer + ".compare", nullptr);
    node->domain = kCalibrationDomain;
    node->set_attribute("comparison_id", id);
    node->set_attribute("object_layer", pair.layer);
  }
  model.opset_imports[kCalibrationDomain] = 1;
}

}  // namespace amct::passes
