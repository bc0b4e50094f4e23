#include "amct/workflow/quant_mapping.h"

#include <map>
#include <set>

namespace amct::workflow {
namespace {

using Names = std::set<std::string, std::less<>>;

Names node_names(const ir::Graph& graph) {
  Names names;
  for (const auto& node : graph.nodes()) names.insert(node->name);
  return names;
}

/// The surviving node that a removed node was folded into: the nearest one before it, else the
/// nearest one behind it; empty when there is none.
std::string heir_of(const ir::Node& removed, const Names& surviving) {
  for (const ir::Node* node = &removed; node->input(0) != nullptr;) {
    node = node->input(0)->producer();
    if (node == nullptr) break;
    if (surviving.contains(node->name)) return node->name;
  }
  for (const ir::Node* node = &removed; !node->output()->uses().empty();) {
    node = node->output()->uses()[0].node;
    if (surviving.contains(node->name)) return node->name;
  }
  return {};
}

}  // namespace

report::QuantMapping map_nodes(const ir::Model& original, const ir::Model& deploy,
                               const passes::QuantPlan& plan) {
  const Names surviving = node_names(*deploy.graph);
  const Names known = node_names(*original.graph);
  std::map<std::string, std::vector<std::string>> origins;
  for (const auto& node : original.graph->nodes()) {
    const std::string target =
        surviving.contains(node->name) ? node->name : heir_of(*node, surviving);
    if (!target.empty()) origins[target].push_back(node->name);
  }
  report::QuantMapping mapping;
  for (const auto& node : deploy.graph->nodes())
    if (known.contains(node->name)) mapping.nodes.push_back({node->name, origins[node->name]});
  for (const passes::LayerPlan& layer : plan.layers) {
    const ir::Node* node = deploy.graph->find_node(layer.layer);
    const ir::Node* quant = node->input(0)->producer();
    mapping.layers.push_back({layer.layer,
                              node->op_type,
                              {quant->name, layer.layer + ".dequant"},
                              layer.activation.scale,
                              layer.activation.offset,
                              layer.activation_bits == 16 ? "INT16" : "INT8",
                              layer.weight ? "INT8" : ""});
  }
  for (const passes::InputPlan& input : plan.inputs) {
    const ir::Node* node = deploy.graph->find_node(input.node);
    const ir::Node* anti_quant = node->input(input.input_index)->producer();
    mapping.layers.push_back({input.key(),
                              node->op_type,
                              {anti_quant->input(0)->producer()->name, anti_quant->name},
                              input.factor.scale,
                              input.factor.offset,
                              input.bits == 16 ? "INT16" : "INT8",
                              ""});
  }
  return mapping;
}

}  // namespace amct::workflow
