#include "amct/passes/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace amct::passes {

bool is_op(const ir::Node& node, std::string_view op_type) {
  return node.op_type == op_type && (node.domain.empty() || node.domain == "ai.onnx");
}

namespace {

bool leaves_nested_graph(const ir::Graph& graph, const ir::Value& value) {
  for (const auto& node : graph.nodes())
    for (const ir::Graph* inner : node->subgraphs())
      if (std::ranges::find(inner->outputs(), &value) != inner->outputs().end() ||
          leaves_nested_graph(*inner, value))
        return true;
  return false;
}

}  // namespace

bool is_exposed(const ir::Value& value) {
  return value.is_graph_output() || leaves_nested_graph(*value.graph(), value);
}

bool is_used(const ir::Value& value) { return !value.uses().empty() || is_exposed(value); }

bool only_read_by(const ir::Value& value, const ir::Node& reader) {
  return value.uses().size() == 1 && value.uses().front().node == &reader &&
         value.graph() == reader.graph() && !is_exposed(value);
}

const ir::Tensor* float_weight(const ir::Value* value) {
  if (value == nullptr || value->constant() == nullptr) return nullptr;
  return value->constant()->type() == ir::DataType::kFloat ? value->constant() : nullptr;
}

const ir::Tensor* float_constant(const ir::Value* value, std::int64_t ir_version) {
  const ir::Tensor* tensor = float_weight(value);
  if (tensor != nullptr && ir_version >= 4 && value->is_graph_input()) return nullptr;
  return tensor;
}

namespace {

/// Operators whose output has the rank of input 0.
constexpr std::array kRankKeepers = {"BatchNormalization",
                                     "Relu",
                                     "LeakyRelu",
                                     "PRelu",
                                     "Elu",
                                     "Sigmoid",
                                     "Tanh",
                                     "Clip",
                                     "HardSigmoid",
                                     "HardSwish",
                                     "MaxPool",
                                     "AveragePool",
                                     "GlobalAveragePool",
                                     "GlobalMaxPool",
                                     "Identity",
                                     "Dropout",
                                     "Cast",
                                     "Softmax",
                                     "Resize",
                                     "Upsample",
                                     "Pad",
                                     "InstanceNormalization",
                                     "LRN"};

}  // namespace

std::optional<std::size_t> known_rank(const ir::Value& value) {
  const ir::Value* current = &value;
  constexpr int kMaxSteps = 32;
  for (int step = 0; step < kMaxSteps && current != nullptr; ++step) {
    if (current->type.shape) return current->type.shape->size();
    if (current->constant() != nullptr) return current->constant()->rank();
    const ir::Node* producer = current->producer();
    if (producer == nullptr) return std::nullopt;
    if (is_op(*producer, "Gemm") || is_op(*producer, "Flatten")) return 2;
    const bool convolves = is_op(*producer, "Conv") || is_op(*producer, "ConvTranspose");
    const ir::Value* weight = convolves ? producer->input(1) : nullptr;
    if (weight != nullptr && weight->constant() != nullptr) return weight->constant()->rank();
    const bool keeps = convolves || std::ranges::any_of(kRankKeepers, [&](const char* op) {
                         return is_op(*producer, op);
                       });
    if (!keeps) return std::nullopt;
    current = producer->input(0);
  }
  return std::nullopt;
}

std::optional<std::vector<double>> per_channel(const ir::Tensor& constant,
                                               std::optional<std::size_t> rank,
                                               std::int64_t channels) {
  if (constant.type() != ir::DataType::kFloat || channels <= 0) return std::nullopt;
  std::vector<double> values = to_double(constant);
  const auto count = static_cast<std::size_t>(channels);
  // Rank 1 broadcasts into everything; more dimensions could raise the rank of the result.
  if (values.size() == 1 && (constant.rank() <= 1 || (rank && constant.rank() <= *rank)))
    return std::vector<double>(count, values.front());
  if (!rank || *rank < 2 || constant.rank() > *rank || values.size() != count) return std::nullopt;
  const std::size_t lead = *rank - constant.rank();
  if (lead > 1 || constant.dims()[1 - lead] != channels) return std::nullopt;
  return values;
}

bool fits_float(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) {
    return std::isfinite(value) && std::isfinite(static_cast<float>(value));
  });
}

ir::Tensor to_float_tensor(std::vector<std::int64_t> dims, const std::vector<double>& values) {
  std::vector<float> rounded(values.size());
  std::ranges::transform(values, rounded.begin(), [](double v) { return static_cast<float>(v); });
  return ir::Tensor::of<float>(std::move(dims), rounded);
}

std::vector<double> to_double(const ir::Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

void set_constant_input(ir::Node& node, std::size_t index, ir::Tensor tensor,
                        std::string_view hint) {
  ir::Value* old = node.input(index);
  const bool own =
      old != nullptr && old->constant() != nullptr && old->uses().size() == 1 && !is_exposed(*old);
  const bool declared = own && old->is_graph_input();
  if (own && (!declared || old->constant()->dims() == tensor.dims())) {
    replace_constant(*old, std::move(tensor));
    return;
  }
  const std::string name = old != nullptr ? old->name() : std::string(hint);
  node.set_input(index, node.graph()->add_constant(name, std::move(tensor)));
  drop_if_unused(old);
}

void replace_constant(ir::Value& value, ir::Tensor tensor) {
  value.type.data_type = tensor.type();
  value.type.shape.emplace();
  for (const std::int64_t dim : tensor.dims()) value.type.shape->push_back({dim, {}});
  value.set_constant(std::move(tensor));
}

void drop_if_unused(ir::Value* value) {
  if (value == nullptr || value->constant() == nullptr || !value->uses().empty()) return;
  if (value->is_graph_input() || is_exposed(*value)) return;
  value->graph()->remove_value(value);
}

void remove_and_take_output(ir::Node& node, ir::Node& producer) {
  ir::Graph& graph = *node.graph();
  ir::Value* output = node.output();
  remove_with_constants(node);
  graph.give_producer(output, &producer);
}

void remove_with_constants(ir::Node& node) {
  const std::vector<ir::Value*> inputs = node.inputs();
  node.graph()->remove_node(&node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool seen = std::find(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                inputs[i]) != inputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (!seen) drop_if_unused(inputs[i]);
  }
}

void allow_plain_initializers(ir::Model& model) {
  if (model.ir_version >= 4) return;
  const auto constants = model.graph->constants();
  if (std::ranges::any_of(constants, [](const ir::Value* v) { return !v->is_graph_input(); }))
    model.ir_version = 4;
}

}  // namespace amct::passes
