#include "amct/passes/layer_rewrite.h"

#include <fmt/core.h>

#include "amct/base/error.h"
#include "amct/passes/eligibility.h"
#include "amct/passes/pattern.h"

namespace amct::passes {

Quantizer quantizer_of(const LayerPlan& plan) {
  return {plan.layer + ".quant", plan.activation, plan.activation_bits};
}

Quantizer quantizer_of(const InputPlan& plan) {
  return {fmt::format("{}.input{}.quant", plan.node, plan.input_index), plan.factor, plan.bits};
}

Quantizer quantizer_of(const OutputPlan& plan) {
  return {plan.node + ".quant", plan.factor, plan.bits};
}

std::string anti_quantizer_name(const InputPlan& plan) {
  return fmt::format("{}.input{}.anti_quant", plan.node, plan.input_index);
}

ir::Value* QuantizerCache::get(ir::Value* activation, const Quantizer& quantizer,
                               ir::Node* before) {
  const auto key =
      std::make_tuple(activation, quantizer.factor.scale, quantizer.factor.offset, quantizer.bits);
  const auto found = made_.find(key);
  if (found != made_.end()) return found->second;
  ir::Value* quantized = make_(activation, quantizer, before);
  made_.emplace(key, quantized);
  return quantized;
}

ir::Value* ConstantCache::get(ir::Graph& graph, const ir::Value* original,
                              const ir::Tensor& integers, std::string_view hint) {
  std::vector<ir::Value*>& candidates = made_[original->name()];
  for (ir::Value* candidate : candidates)
    if (*candidate->constant() == integers) return candidate;
  candidates.push_back(graph.add_constant(hint, integers));
  return candidates.back();
}

LayerSlots find_slots(ir::Graph& graph, const LayerPlan& plan) {
  ir::Node* node = graph.find_node(plan.layer);
  std::optional<ir::LayerView> view;
  if (node != nullptr) view = ir::view_onnx_layer(*node);
  if (!view || view->kind != plan.kind)
    raise(ErrorCode::kInvalidModel, "the model has no {} layer '{}'", ir::to_string(plan.kind),
          plan.layer);
  LayerSlots slots;
  slots.view = *view;
  slots.tail = node;
  if (view->bias_index) {
    slots.bias_node = node;
    slots.bias_index = *view->bias_index;
  } else if (ir::Node* add = plan.bias ? find_bias_add(*view) : nullptr) {
    slots.tail = add;
    slots.bias_node = add;
    slots.bias_index = add->input(0)->constant() != nullptr ? 0 : 1;
  }
  return slots;
}

ir::Node* find_reader(ir::Graph& graph, const InputPlan& plan) {
  ir::Node* node = graph.find_node(plan.node);
  if (node == nullptr || node->input(plan.input_index) == nullptr)
    raise(ErrorCode::kInvalidModel, "the model has no input {} of a node '{}'", plan.input_index,
          plan.node);
  return node;
}

ir::Value* remove_quantize_linear(ir::Graph& graph, const OutputPlan& plan, ir::Value*& output) {
  ir::Node* node = graph.find_node(plan.node);
  if (node == nullptr || node->input(0) == nullptr || node->outputs().size() != 1)
    raise(ErrorCode::kInvalidModel, "the model has no QuantizeLinear '{}'", plan.node);
  ir::Value* data = node->input(0);
  output = node->output();
  output->type.data_type = plan.bits == 16 ? ir::DataType::kInt16 : ir::DataType::kInt8;
  remove_with_constants(*node);
  return data;
}

void replace_input(ir::Node& node, std::size_t index, ir::Value* value) {
  ir::Value* old = node.input(index);
  node.set_input(index, value);
  if (old != nullptr && old->constant() != nullptr && !is_used(*old))
    old->graph()->remove_value(old);
}

ir::Tensor transposed(const ir::Tensor& matrix) {
  const auto rows = static_cast<std::size_t>(matrix.dims()[0]);
  const auto columns = static_cast<std::size_t>(matrix.dims()[1]);
  ir::Tensor result = ir::Tensor::zeros(ir::DataType::kInt8, {matrix.dims()[1], matrix.dims()[0]});
  const auto from = matrix.values<std::int8_t>();
  const auto to = result.mutable_values<std::int8_t>();
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
  return result;
}

std::vector<std::int64_t> channel_dims(const LayerPlan& plan, std::int64_t channels) {
  std::vector<std::int64_t> dims{channels};
  const bool spatial =
      plan.kind == ir::LayerKind::kConv || plan.kind == ir::LayerKind::kConvTranspose;
  if (spatial && plan.weight)
    for (std::size_t i = 2; i < plan.weight->rank(); ++i) dims.push_back(1);
  return dims;
}

ir::Value* add_vector(ir::Graph& graph, std::string_view hint, const std::vector<float>& values,
                      std::vector<std::int64_t> dims) {
  return graph.add_constant(hint, ir::Tensor::of<float>(std::move(dims), values));
}

ir::Node* add_named(ir::Graph& graph, std::string op_type, const std::vector<ir::Value*>& inputs,
                    std::string_view name, ir::Node* before) {
  ir::Node* node = graph.insert_node(std::move(op_type), inputs, name, before);
  node->name = graph.unique_node_name(name);
  return node;
}

ir::Node* add_named_for(ir::Graph& graph, std::string op_type,
                        const std::vector<ir::Value*>& inputs, std::string_view name,
                        ir::Value* output, ir::Node* before) {
  ir::Node* node = graph.add_node(std::move(op_type), inputs, {output}, before);
  node->name = graph.unique_node_name(name);
  return node;
}

}  // namespace amct::passes
