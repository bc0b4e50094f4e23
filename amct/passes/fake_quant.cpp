#include "amct/passes/fake_quant.h"

#include <algorithm>

#include "amct/passes/layer_rewrite.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::Graph;
using ir::Node;
using ir::Value;

constexpr std::int64_t kFirstQuantizeLinear = 10;
constexpr std::int64_t kFirstInt16QuantizeLinear = 21;
constexpr std::int64_t kFirstClipInputs = 11;
/// Adding and subtracting 1.5 * 2^23 rounds |x| < 2^22 half to even, where Round does not exist.
constexpr float kRounder = 12582912.0F;

/// Half of the integers that float32 holds exactly; the other half is for the sum of products.
constexpr std::int32_t kExactBias = 1 << 23;

class FakeQuantizer {
 public:
  explicit FakeQuantizer(ir::Model& model)
      : graph_(*model.graph),
        opset_(model.opset()),
        quantizers_([this](Value* activation, const Quantizer& quantizer, Node* before) {
          return quantize(activation, quantizer, before);
        }) {}

  void rewrite(const LayerPlan& plan) {
    const LayerSlots slots = find_slots(graph_, plan);
    Node* node = slots.view.node;
    Value* integers = quantizers_.get(slots.view.activation, quantizer_of(plan), node);
    node->set_input(slots.view.activation_index, integers);
    if (plan.weight)
      replace_input(*node, *slots.view.weight_index,
                    as_float(plan.layer + ".weight",
                             weights_.get(graph_, slots.view.weight, *plan.weight,
                                          plan.layer + ".weight.quantized"),
                             node));
    const bool exact_bias = !plan.bias || plan.activation_bits == 16 || fits_float(*plan.bias);
    if (exact_bias && plan.bias) {
      const Value* old = slots.bias_node->input(slots.bias_index);
      const ir::Tensor bias = plan.bias->reshaped(old->constant()->dims());
      replace_input(
          *slots.bias_node, slots.bias_index,
          as_float(plan.layer + ".bias", graph_.add_constant(plan.layer + ".bias.quantized", bias),
                   slots.bias_node));
    } else if (plan.bias) {
      clear_bias(plan, slots);
    }
    dequantize(plan, slots.tail, !exact_bias);
  }

  void rewrite(const InputPlan& plan) {
    Node* node = find_reader(graph_, plan);
    Value* integers = quantizers_.get(node->input(plan.input_index), quantizer_of(plan), node);
    const std::string name = anti_quantizer_name(plan);
    Value* scale = add_scalar(graph_, name + ".scale", plan.factor.scale);
    node->set_input(plan.input_index,
                    add_named(graph_, "Mul", {integers, scale}, name, node)->output());
  }

  void rewrite(const OutputPlan& plan) {
    Value* output = nullptr;
    Value* data = remove_quantize_linear(graph_, plan, output);
    const Quantizer quantizer = quantizer_of(plan);
    Value* integers = quantizers_.get(data, quantizer, nullptr);
    Value* offset =
        add_scalar(graph_, quantizer.name + ".shift", static_cast<float>(quantizer.factor.offset));
    Value* shifted =
        add_named(graph_, "Add", {integers, offset}, quantizer.name + ".shifted", nullptr)
            ->output();
    add_named_for(graph_, "Cast", {shifted}, plan.node, output, nullptr)
        ->set_attribute("to", static_cast<std::int64_t>(output->type.data_type));
  }

 private:
  /// Whether float32 holds every value of the bias, and its sum with the products, exactly.
  static bool fits_float(const ir::Tensor& bias) {
    return std::ranges::all_of(bias.values<std::int32_t>(), [](std::int32_t value) {
      return value > -kExactBias && value < kExactBias;
    });
  }

  /// The layer adds zeros; the real bias is added behind it in int32.
  void clear_bias(const LayerPlan& plan, const LayerSlots& slots) {
    const Value* old = slots.bias_node->input(slots.bias_index);
    replace_input(
        *slots.bias_node, slots.bias_index,
        graph_.add_constant(plan.layer + ".no_bias",
                            ir::Tensor::zeros(DataType::kFloat, old->constant()->dims())));
  }

  /// round_half_even(x * (1 / scale)) clipped to the grid, minus the offset: integers in float32.
  Value* quantize(Value* activation, const Quantizer& quantizer, Node* before) {
    const std::string& name = quantizer.name;
    const bool wide = quantizer.bits == 16;
    // The device multiplies by the reciprocal; a division rounds near-ties the other way at times.
    Value* reciprocal = add_scalar(graph_, name + ".reciprocal", 1.0F / quantizer.factor.scale);
    Value* scaled =
        add_named(graph_, "Mul", {activation, reciprocal}, name + ".scaled", before)->output();
    if (opset_ >= (wide ? kFirstInt16QuantizeLinear : kFirstQuantizeLinear))
      return quantize_linear(scaled, quantizer, before);
    Value* clipped = clip(scaled, quantizer, before);
    if (opset_ >= kFirstClipInputs)
      return add_named(graph_, "Round", {clipped}, name + ".round", before)->output();
    Value* rounder = add_scalar(graph_, name + ".rounder", kRounder);
    Node* up = add_named(graph_, "Add", {clipped, rounder}, name + ".round_up", before);
    return add_named(graph_, "Sub", {up->output(), rounder}, name + ".round_down", before)
        ->output();
  }

  Value* quantize_linear(Value* scaled, const Quantizer& quantizer, Node* before) {
    const std::string& name = quantizer.name;
    Value* one = add_scalar(graph_, name + ".one", 1.0F);
    Value* offset = quantizer.bits == 16
                        ? add_scalar(graph_, name + ".offset",
                                     static_cast<std::int16_t>(quantizer.factor.offset))
                        : add_scalar(graph_, name + ".offset",
                                     static_cast<std::int8_t>(quantizer.factor.offset));
    Node* quantized = add_named(graph_, "QuantizeLinear", {scaled, one, offset}, name, before);
    return add_named(graph_, "DequantizeLinear", {quantized->output(), one, offset},
                     name + ".integers", before)
        ->output();
  }

  Value* clip(Value* input, const Quantizer& quantizer, Node* before) {
    const std::string& name = quantizer.name;
    const std::int32_t half = 1 << (quantizer.bits - 1);
    const auto low = static_cast<float>(-half - quantizer.factor.offset);
    const auto high = static_cast<float>(half - 1 - quantizer.factor.offset);
    if (opset_ >= kFirstClipInputs)
      return add_named(graph_, "Clip",
                       {input, add_scalar(graph_, name + ".min", low),
                        add_scalar(graph_, name + ".max", high)},
                       name + ".clip", before)
          ->output();
    Node* node = add_named(graph_, "Clip", {input}, name + ".clip", before);
    node->set_attribute("min", low);
    node->set_attribute("max", high);
    return node->output();
  }

  Value* as_float(const std::string& name, Value* integers, Node* before) {
    return cast(integers, DataType::kFloat, name, before)->output();
  }

  Node* cast(Value* input, DataType type, const std::string& name, Node* before) {
    Node* node = add_named(graph_, "Cast", {input}, name, before);
    node->set_attribute("to", static_cast<std::int64_t>(type));
    return node;
  }

  /// Multiplies the result of `tail` by scale_d * scale_w; the result keeps its name.
  void dequantize(const LayerPlan& plan, Node* tail, bool add_bias) {
    const std::string name = plan.layer + ".dequant";
    Node* before = graph_.next_node(tail);
    Value* result = tail->output();
    Value* accumulator = graph_.detach_output(tail, 0, plan.layer + ".accumulator");
    if (plan.kind == ir::LayerKind::kAveragePool) {
      multiply(accumulator, plan, name, result, before);
      return;
    }
    if (plan.activation_bits == 16) {  // float32 sums may leave int32; Floor changes no integer
      Node* floor = add_named(graph_, "Floor", {accumulator}, name + ".floor", before);
      multiply(floor->output(), plan, name, result, before);
      return;
    }
    Value* int32 = cast(accumulator, DataType::kInt32, name + ".int32", before)->output();
    if (add_bias) {
      const ir::Tensor bias = plan.bias->reshaped(channel_dims(plan, plan.bias->size()));
      Value* constant = graph_.add_constant(plan.layer + ".bias", bias);
      int32 = add_named(graph_, "Add", {int32, constant}, plan.layer + ".biased", before)->output();
    }
    Value* real = cast(int32, DataType::kFloat, name + ".float", before)->output();
    multiply(real, plan, name, result, before);
  }

  void multiply(Value* input, const LayerPlan& plan, const std::string& name, Value* result,
                Node* before) {
    const std::vector<float> scales = dequant_scales(plan);
    const auto count = static_cast<std::int64_t>(scales.size());
    Value* scale = count == 1
                       ? add_scalar(graph_, name + ".scale", scales[0])
                       : add_vector(graph_, name + ".scale", scales, channel_dims(plan, count));
    add_named_for(graph_, "Mul", {input, scale}, name, result, before);
  }

  Graph& graph_;
  std::int64_t opset_;
  QuantizerCache quantizers_;
  ConstantCache weights_;
};

}  // namespace

void insert_fake_quant(ir::Model& model, const QuantPlan& plan) {
  FakeQuantizer quantizer(model);
  for (const LayerPlan& layer : plan.layers) quantizer.rewrite(layer);
  for (const InputPlan& input : plan.inputs) quantizer.rewrite(input);
  for (const OutputPlan& output : plan.outputs) quantizer.rewrite(output);
  model.graph->remove_unused();
  model.graph->sort();  // an input may stand before the layer that it shares a quantizer with
  allow_plain_initializers(model);
}

}  // namespace amct::passes
