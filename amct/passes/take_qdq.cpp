#include "amct/passes/take_qdq.h"

#include <algorithm>
#include <array>

#include "amct/base/error.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::Value;

bool is_any_of(const Node& node, std::initializer_list<std::string_view> op_types) {
  return std::ranges::any_of(op_types, [&](std::string_view type) { return is_op(node, type); });
}

/// Yields the elements of its first input in another order or shape.
bool moves_data(const Node& node) {
  return is_any_of(node, {"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"});
}

const ir::Tensor* constant_of(const Value* value) {
  return value != nullptr ? value->constant() : nullptr;
}

class Taker {
 public:
  explicit Taker(ir::Model& model) : model_(model) {}

  QdqFactors take() {
    fold_constants()->run(model_);  // scales and zero points in Constant nodes
    model_.graph->for_each_graph([this](Graph& graph) {
      for (Node* node : graph.node_list())
        if (is_dequantize_linear(*node)) take_dequantize(node);
    });
    model_.graph->for_each_graph([this](Graph& graph) {
      for (Node* node : graph.node_list())
        if (is_quantize_linear(*node)) settle_quantize(node);
    });
    model_.graph->for_each_graph([this](Graph& graph) {
      for (const auto& node : graph.nodes()) follow_constants(*node);
    });
    forget_unused_domain();
    return std::move(factors_);
  }

 private:
  void leave(const Node& node, std::string reason) {
    factors_.left.emplace(node.name, std::move(reason));
  }

  void take_dequantize(Node* node) {
    const QdqGrid grid = read_grid(*node);
    if (const ir::Tensor* integers = constant_of(node->input(0))) {
      if (grid.scales.empty() || grid.offsets.empty()) return leave(*node, grid.problem);
      return become_constant(node, dequantized(*integers, grid), grid);
    }
    Node* quantize = node->input(0) != nullptr ? node->input(0)->producer() : nullptr;
    if (quantize == nullptr || !is_quantize_linear(*quantize))
      return leave(*node, "it has no QuantizeLinear in front of it");
    const QdqGrid written = read_grid(*quantize);
    if (!written.problem.empty()) return leave(*node, written.problem);
    if (!(written == grid))
      return leave(*node, "its factors differ from those of QuantizeLinear '" + quantize->name +
                              "'; both nodes of a pair must have the same scale and zero point");
    Value* real = quantize->input(0);
    if (const ir::Tensor* constant = float_weight(real))
      return become_constant(node, quantized_and_dequantized(*constant, grid), grid);
    if (grid.scales.size() != 1)
      return leave(*node, "it quantizes data per channel; the NPU takes one scale for data");
    bypass(node, real, grid);
  }

  /// The node's output is a constant from here on.
  void become_constant(Node* node, ir::Tensor real, const QdqGrid& grid) {
    Value* output = node->output();
    if (is_exposed(*output)) return leave(*node, "its constant result is an output of the graph");
    remove_with_constants(*node);
    replace_constant(*output, std::move(real));
    constants_[output] = grid;
  }

  /// Readers of the pair read the real data.
  void bypass(Node* dequantize, Value* real, const QdqGrid& grid) {
    Value* output = dequantize->output();
    for (const ir::Use& use : output->uses()) factors_.data[{use.node->name, use.index}] = grid;
    Graph::replace_uses(output, real);
    Graph& graph = *dequantize->graph();
    const std::string name = dequantize->name;
    Node* next = graph.next_node(dequantize);
    const bool exposed = is_exposed(*output);
    if (exposed) graph.detach_output(dequantize, 0, name + ".unused");
    remove_with_constants(*dequantize);
    if (!exposed) return;
    graph.add_node("Identity", {real}, {output}, next)->name = name;  // now the pair's reader
    factors_.data[{name, 0}] = grid;
  }

  void settle_quantize(Node* node) {
    const Value& output = *node->output();
    if (!is_used(output)) return remove_with_constants(*node);
    if (is_half_of_left_pair(output)) return;
    if (!output.uses().empty())
      return leave(*node, "its integers are read by " + output.uses()[0].node->op_type + " '" +
                              output.uses()[0].node->label() + "'");
    const QdqGrid grid = read_grid(*node);
    if (!grid.problem.empty()) return leave(*node, grid.problem);
    if (grid.scales.size() != 1 || grid.bits > 16)
      return leave(*node, "the NPU yields outputs of 8 or 16 bits with one scale");
    factors_.outputs[node->name] = grid;
  }

  bool is_half_of_left_pair(const Value& integers) const {
    return std::ranges::any_of(integers.uses(), [this](const ir::Use& use) {
      return factors_.left.contains(use.node->name);
    });
  }

  /// Notes which inputs of the node are constants with a grid.
  void follow_constants(const Node& node) {
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto found = constants_.find(node.input(i));
      if (found == constants_.end()) continue;
      factors_.constants[{node.name, i}] = found->second;
      if (i == 0 && moves_data(node)) constants_[node.output()] = moved(node, found->second);
    }
  }

  static QdqGrid moved(const Node& node, QdqGrid grid) {
    if (grid.scales.size() == 1 || is_op(node, "Identity")) return grid;
    const auto rank = static_cast<std::int64_t>(
        node.input(0)->constant() != nullptr ? node.input(0)->constant()->rank() : 0);
    const std::int64_t axis = grid.axis < 0 ? grid.axis + rank : grid.axis;
    const std::vector<std::int64_t> order = node.attribute_ints("perm", {});
    if (is_op(node, "Transpose") && !order.empty()) {
      grid.axis = std::ranges::find(order, axis) - order.begin();
    } else if (is_op(node, "Transpose") && rank > 0) {
      grid.axis = rank - 1 - axis;
    } else {
      grid.problem = "its scales per channel pass a " + node.op_type;
    }
    return grid;
  }

  /// onnxruntime's domain, when only its quantizers were in it.
  void forget_unused_domain() {
    bool used = false;
    model_.graph->for_each_graph([&](Graph& graph) {
      for (const auto& node : graph.nodes()) used |= node->domain == "com.microsoft";
    });
    if (!used) model_.opset_imports.erase("com.microsoft");
  }

  ir::Model& model_;
  QdqFactors factors_;
  std::map<const Value*, QdqGrid> constants_;
};

}  // namespace

QdqFactors take_qdq(ir::Model& model) { return Taker(model).take(); }

const std::pair<const InputSlot, QdqGrid>* find_data_grid(const QdqFactors& factors,
                                                          const ir::Node& node, std::size_t index) {
  const Node* reader = &node;
  while (true) {
    const auto found = factors.data.find({reader->name, index});
    if (found != factors.data.end()) return &*found;
    const Value* value = reader->input(index);
    if (value == nullptr || value->producer() == nullptr || value->producer_index() != 0)
      return nullptr;
    reader = value->producer();
    index = 0;
    if (!commutes_with_quantization(*reader)) return nullptr;
  }
}

bool commutes_with_quantization(const Node& node) {
  return moves_data(node) || is_any_of(node, {"MaxPool", "Relu"});
}

}  // namespace amct::passes
