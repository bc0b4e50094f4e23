#include "amct/passes/deploy.h"

#include <bit>

#include "amct/passes/layer_rewrite.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::Graph;
using ir::Node;
using ir::Value;

/// deq_scale as the device reads it: float32 bits in 0-31, shift N in 32-39 and weight offset in
/// 40-47, both 0.
ir::Tensor pack_dequant_scales(const std::vector<float>& scales) {
  std::vector<std::uint64_t> packed;
  packed.reserve(scales.size());
  for (const float scale : scales) packed.push_back(std::bit_cast<std::uint32_t>(scale));
  return ir::Tensor::of<std::uint64_t>({static_cast<std::int64_t>(packed.size())}, packed);
}

void describe_quantizer(Node& ascend_quant, const Quantizer& quantizer) {
  ascend_quant.set_attribute("scale", 1.0F / quantizer.factor.scale);
  ascend_quant.set_attribute("offset", static_cast<float>(quantizer.factor.offset));
  ascend_quant.set_attribute("dst_type", std::string(quantizer.bits == 16 ? "INT16" : "INT8"));
}

Value* insert_ascend_quant(Graph& graph, Value* activation, const Quantizer& quantizer,
                           Node* before) {
  Node* node = add_named(graph, "AscendQuant", {activation}, quantizer.name, before);
  describe_quantizer(*node, quantizer);
  node->output()->type = activation->type;
  node->output()->type.data_type = quantizer.bits == 16 ? DataType::kInt16 : DataType::kInt8;
  return node->output();
}

void insert_ascend_dequant(Graph& graph, const LayerPlan& plan, Node* tail) {
  Node* before = graph.next_node(tail);
  Value* result = tail->output();
  Value* accumulator = graph.detach_output(tail, 0, plan.layer + "_output0");
  accumulator->type = result->type;
  accumulator->type.data_type = DataType::kInt32;
  Value* scale =
      graph.add_constant(plan.layer + ".dequant.param", pack_dequant_scales(dequant_scales(plan)));
  Node* node = add_named_for(graph, "AscendDequant", {accumulator, scale}, plan.layer + ".dequant",
                             result, before);
  node->set_attribute("dtype", std::int64_t{0});
}

void rewrite(Graph& graph, const LayerPlan& plan, QuantizerCache& quantizers,
             ConstantCache& weights) {
  const LayerSlots slots = find_slots(graph, plan);
  Node* node = slots.view.node;
  node->set_input(slots.view.activation_index,
                  quantizers.get(slots.view.activation, quantizer_of(plan), node));
  if (plan.weight) {
    const bool turned = plan.kind == ir::LayerKind::kGemm && node->attribute_int("transB", 0) != 0;
    replace_input(
        *node, *slots.view.weight_index,
        weights.get(graph, slots.view.weight, turned ? transposed(*plan.weight) : *plan.weight,
                    plan.layer + ".weight"));
    if (turned) node->remove_attribute("transB");
  }
  if (plan.bias) {
    const Value* old = slots.bias_node->input(slots.bias_index);
    replace_input(
        *slots.bias_node, slots.bias_index,
        graph.add_constant(plan.layer + ".bias", plan.bias->reshaped(old->constant()->dims())));
  }
  if (slots.tail != node) node->output()->type.data_type = DataType::kInt32;
  insert_ascend_dequant(graph, plan, slots.tail);
}

void rewrite(Graph& graph, const InputPlan& plan, QuantizerCache& quantizers) {
  Node* reader = find_reader(graph, plan);
  Value* real = reader->input(plan.input_index);
  Value* integers = quantizers.get(real, quantizer_of(plan), reader);
  Node* node = add_named(graph, "AscendAntiQuant", {integers}, anti_quantizer_name(plan), reader);
  node->set_attribute("scale", plan.factor.scale);  // not the reciprocal
  node->set_attribute("offset", static_cast<float>(plan.factor.offset));
  node->set_attribute("dtype", std::int64_t{0});
  node->output()->type = real->type;
  reader->set_input(plan.input_index, node->output());
}

void rewrite(Graph& graph, const OutputPlan& plan) {
  Value* output = nullptr;
  Value* data = remove_quantize_linear(graph, plan, output);
  const Quantizer quantizer = quantizer_of(plan);
  describe_quantizer(*add_named_for(graph, "AscendQuant", {data}, quantizer.name, output, nullptr),
                     quantizer);
}

}  // namespace

void insert_deploy(ir::Model& model, const QuantPlan& plan) {
  Graph& graph = *model.graph;
  QuantizerCache quantizers([&graph](Value* activation, const Quantizer& quantizer, Node* before) {
    return insert_ascend_quant(graph, activation, quantizer, before);
  });
  ConstantCache weights;
  for (const LayerPlan& layer : plan.layers) rewrite(graph, layer, quantizers, weights);
  for (const InputPlan& input : plan.inputs) rewrite(graph, input, quantizers);
  for (const OutputPlan& output : plan.outputs) rewrite(graph, output);
  graph.remove_unused();
  graph.sort();  // an input may stand before the layer that it shares a quantizer with
  allow_plain_initializers(model);
}

}  // namespace amct::passes
