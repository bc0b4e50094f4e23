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

Value* insert_ascend_quant(Graph& graph, Value* activation, const LayerPlan& plan, Node* before) {
  Node* node = add_named(graph, "AscendQuant", {activation}, plan.layer + ".quant", before);
  node->set_attribute("scale", 1.0F / plan.activation.scale);
  node->set_attribute("offset", static_cast<float>(plan.activation.offset));
  const bool wide = plan.activation_bits == 16;
  node->set_attribute("dst_type", std::string(wide ? "INT16" : "INT8"));
  node->output()->type = activation->type;
  node->output()->type.data_type = wide ? DataType::kInt16 : DataType::kInt8;
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
  node->set_input(slots.view.activation_index, quantizers.get(slots.view.activation, plan, node));
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

}  // namespace

void insert_deploy(ir::Model& model, const QuantPlan& plan) {
  Graph& graph = *model.graph;
  QuantizerCache quantizers([&graph](Value* activation, const LayerPlan& layer, Node* before) {
    return insert_ascend_quant(graph, activation, layer, before);
  });
  ConstantCache weights;
  for (const LayerPlan& layer : plan.layers) rewrite(graph, layer, quantizers, weights);
  graph.remove_unused();
  allow_plain_initializers(model);
}

}  // namespace amct::passes
