#include "amct/passes/eligibility.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::LayerKind;
using ir::LayerView;
using ir::Node;
using ir::Value;

bool all_equal(const std::vector<std::int64_t>& values, std::int64_t expected) {
  return std::ranges::all_of(values, [=](std::int64_t value) { return value == expected; });
}

bool is_constant(const Value& value) {
  return value.constant() != nullptr || value.opaque_constant;
}

/// `may_be_other_float`: an undeclared type need not be float32.
std::string data_reason(const Value& input, bool may_be_other_float) {
  if (is_constant(input)) return "its input is a constant";
  const Node* producer = input.producer();
  if (producer != nullptr &&
      (producer->op_type == "DequantizeLinear" || producer->op_type == "AscendQuant"))
    return fmt::format(
        "its input is already quantized ({}); quantize the float model that this one was made "
        "from",
        producer->op_type == "AscendQuant" ? "AscendQuant" : "QuantizeLinear/DequantizeLinear");
  const DataType type = input.type.data_type;
  if (type == DataType::kUndefined && may_be_other_float)
    return "the model is not float32 throughout and the type of its input is not declared; run "
           "ONNX shape inference on the model";
  if (type != DataType::kUndefined && type != DataType::kFloat)
    return fmt::format("its input is {}; convert the model to float32 to quantize it",
                       ir::to_string(type));
  return {};
}

std::string activation_reason(const LayerView& view, bool mixed) {
  if (view.activation == nullptr) return "its first input is missing";
  if (view.kind == LayerKind::kMatMul && is_constant(*view.activation))
    return "its constant is the first input; exchange the inputs (with Transpose around them) to "
           "quantize it";
  return data_reason(*view.activation, mixed && view.kind == LayerKind::kAveragePool);
}

std::string weight_reason(const LayerView& view) {
  const Value* weight = view.weight;
  if (weight == nullptr) return "its weight is missing";
  if (weight->constant() == nullptr) {
    if (weight->opaque_constant) return "its weight is a sparse tensor";
    if (weight->producer() != nullptr && weight->producer()->op_type == "DequantizeLinear")
      return "its weight is already quantized (DequantizeLinear); quantize the float model that "
             "this one was made from";
    return "its weight is computed at run time; export the model with constant weights to quantize "
           "it";
  }
  const ir::Tensor& tensor = *weight->constant();
  if (tensor.type() != DataType::kFloat)
    return fmt::format("its weight is {}; convert the model to float32 to quantize it",
                       ir::to_string(tensor.type()));
  if (tensor.empty()) return "its weight is empty";
  return {};
}

std::string bias_reason(const LayerView& view) {
  if (view.bias == nullptr) return {};
  const ir::Tensor* bias = view.bias->constant();
  if (bias == nullptr)
    return "its bias is computed at run time; export the model with a constant bias to quantize it";
  if (bias->type() != DataType::kFloat)
    return fmt::format("its bias is {}; convert the model to float32 to quantize it",
                       ir::to_string(bias->type()));
  if (bias->size() != view.output_channels || bias->rank() != 1)
    return "its bias is not one value per output channel; add such a bias by a separate Add";
  return {};
}

std::string shape_reason(const LayerView& view) {
  const Node& node = *view.node;
  const std::size_t rank = view.weight->constant()->rank();
  if (view.groups < 1 || view.weight->constant()->dims()[0] % view.groups != 0)
    return fmt::format("its {} groups do not divide the {} channels of its weight", view.groups,
                       view.weight->constant()->dims()[0]);
  switch (view.kind) {
    case LayerKind::kConv: {
      if (rank < 3 || rank > 5)
        return fmt::format("its weight has {} dimensions; 3, 4 or 5 are supported", rank);
      const auto dilations = node.attribute_ints("dilations", {});
      if (rank == 5 && !dilations.empty() && dilations[0] != 1)
        return "it is a 3-D convolution dilated along depth, which the NPU does not quantize";
      return {};
    }
    case LayerKind::kConvTranspose:
      if (rank < 3 || rank > 4)
        return fmt::format("its weight has {} dimensions; 3 or 4 are supported", rank);
      if (!all_equal(node.attribute_ints("dilations", {}), 1))
        return "it is dilated; the NPU quantizes ConvTranspose with dilation 1 only";
      return {};
    case LayerKind::kGemm:
      if (rank != 2) return fmt::format("its weight has {} dimensions, expected 2", rank);
      if (node.attribute_int("transA", 0) != 0)
        return "transA is set; transpose its input in front of it to quantize it";
      if (node.attribute_float("alpha", 1.0F) != 1.0F ||
          (view.bias != nullptr && node.attribute_float("beta", 1.0F) != 1.0F))
        return "alpha or beta is not 1 and could not be folded into its weight and bias";
      return {};
    default:
      if (rank != 2)
        return fmt::format("its weight has {} dimensions; reshape it to 2 to quantize it", rank);
      if (view.activation->type.shape && view.activation->type.shape->size() < 2)
        return "its first input is a vector; reshape it to 2 dimensions to quantize it";
      return {};
  }
}

std::string quantization_reason(const LayerView& view, bool mixed) {
  if (std::string reason = activation_reason(view, mixed); !reason.empty()) return reason;
  if (view.kind == LayerKind::kAveragePool) return {};
  for (const auto rule : {weight_reason, shape_reason, bias_reason})
    if (std::string reason = rule(view); !reason.empty()) return reason;
  return {};
}

bool is_other_float(DataType type) {
  return type == DataType::kFloat16 || type == DataType::kBFloat16 || type == DataType::kDouble;
}

/// Whether values of other floating types exist: then an undeclared type may be one of them.
bool is_mixed(const ir::Graph& graph) {
  for (const Value* value : graph.values())
    if (is_other_float(value->type.data_type) ||
        (value->constant() != nullptr && is_other_float(value->constant()->type())))
      return true;
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    return node->op_type == "Cast" &&
           is_other_float(static_cast<DataType>(node->attribute_int("to", 0)));
  });
}

bool is_recurrent(const Node& node) {
  return node.domain.empty() && (node.op_type == "LSTM" || node.op_type == "GRU");
}

Candidate describe(const LayerView& view, bool mixed) {
  Candidate candidate;
  candidate.layer = view.node->name;
  candidate.op_type = view.node->op_type;
  if (view.activation != nullptr) candidate.activation = view.activation->name();
  if (view.weight != nullptr && view.weight->constant() != nullptr)
    candidate.weight_rank = static_cast<int>(view.weight->constant()->rank());
  candidate.per_channel_allowed =
      view.kind == LayerKind::kConv || view.kind == LayerKind::kConvTranspose;
  candidate.reason = quantization_reason(view, mixed);
  return candidate;
}

void collect(const ir::Graph& graph, bool mixed, std::vector<Candidate>& found) {
  for (const auto& node : graph.nodes()) {
    if (std::optional<LayerView> view = ir::view_onnx_layer(*node)) {
      Candidate candidate = describe(*view, mixed);
      if (const Node* parent = graph.parent_node())
        candidate.reason = fmt::format(
            "it lies inside a subgraph of {} '{}', which runs conditionally and stays in float",
            parent->op_type, parent->label());
      found.push_back(std::move(candidate));
    } else if (is_recurrent(*node)) {
      found.push_back({node->name,
                       node->op_type,
                       {},
                       0,
                       false,
                       "recurrent layers are not quantized by this version"});
    }
    for (const ir::Graph* inner : node->subgraphs()) collect(*inner, mixed, found);
  }
}

}  // namespace

bool is_quantized_operator(const Node& node) {
  constexpr std::array<std::string_view, 9> kOperators{
      "ConvInteger", "MatMulInteger",        "DynamicQuantizeLinear",
      "QLinearConv", "QLinearMatMul",        "QGemm",
      "QAttention",  "MatMulIntegerToFloat", "DynamicQuantizeMatMul"};
  return std::ranges::find(kOperators, node.op_type) != kOperators.end();
}

std::vector<Candidate> find_candidates(const ir::Model& model) {
  std::vector<Candidate> found;
  collect(*model.graph, is_mixed(*model.graph), found);
  return found;
}

std::string input_reason(const ir::Model& model, const std::string& node, std::size_t input_index) {
  const Node* reader = model.graph->find_node(node);
  if (reader == nullptr)
    return "it was folded into another layer or lies inside a subgraph, which stays in float";
  const Value* input = reader->input(input_index);
  return input != nullptr ? data_reason(*input, is_mixed(*model.graph)) : "it has no such input";
}

ir::Node* find_bias_add(const LayerView& matmul) {
  const Value* output = matmul.node->output();
  if (matmul.kind != LayerKind::kMatMul || output->uses().size() != 1 || is_exposed(*output))
    return nullptr;
  const ir::Use use = output->uses()[0];
  if (use.node->op_type != "Add" || !use.node->domain.empty() ||
      use.node->graph() != matmul.node->graph() || use.node->inputs().size() != 2)
    return nullptr;
  const Value* other = use.node->input(1 - use.index);
  const ir::Tensor* bias = other != nullptr ? other->constant() : nullptr;
  if (bias == nullptr || bias->type() != DataType::kFloat || bias->rank() < 1 || bias->rank() > 2)
    return nullptr;
  const bool per_channel =
      bias->size() == matmul.output_channels && bias->dims().back() == matmul.output_channels;
  return per_channel ? use.node : nullptr;
}

ir::Value* bias_of_add(const Node& add) {
  return add.input(0)->constant() != nullptr ? add.input(0) : add.input(1);
}

}  // namespace amct::passes
