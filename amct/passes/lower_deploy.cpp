#include "amct/passes/lower_deploy.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "amct/base/error.h"
#include "amct/ir/layer_view.h"
#include "amct/passes/check_deploy.h"
#include "amct/passes/layer_rewrite.h"
#include "amct/passes/pattern.h"
#include "amct/passes/raise_opset.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::Graph;
using ir::LayerKind;
using ir::Node;
using ir::Value;

/// The first with ConvInteger, MatMulInteger, Round, and Clip by inputs.
constexpr std::int64_t kNeededOpset = 11;
/// Integers up to here are exact in float32.
constexpr double kExactFloat = 1 << 24;

bool is_ascend(const Node& node) {
  return is_op(node, "AscendQuant") || is_op(node, "AscendDequant") ||
         is_op(node, "AscendAntiQuant");
}

/// What one AscendQuant yields: the clipped integers, offset included, held in float32.
struct Quantized {
  Value* integers = nullptr;
  std::int32_t offset = 0;
  int bits = 8;
};

class Lowering {
 public:
  explicit Lowering(ir::Model& model) : graph_(*model.graph) {}

  void run() {
    for (Node* node : graph_.node_list()) {
      if (is_op(*node, "AscendQuant"))
        lower_quant(node);
      else if (is_op(*node, "AscendDequant"))
        lower_dequant(node);
      else if (is_op(*node, "AscendAntiQuant"))
        lower_anti_quant(node);
      else if (quantized_input(*node))
        lower_layer(node);
    }
    for (const auto& [value, quantized] : quantized_) check_all_lowered(*value);
    graph_.remove_unused();
  }

 private:
  void lower_quant(Node* node) {
    const std::string name = node->label();
    Quantized result;
    result.bits = activation_bits(*node);
    const float offset = node->attribute_float("offset", 0.0F);
    result.offset = static_cast<std::int32_t>(offset);
    if (node->attribute_string("round_mode", "Round") != "Round")
      raise(ErrorCode::kUnsupported, "AscendQuant '{}': only round_mode Round can be run", name);
    Value* scale = add_scalar(graph_, name + ".scale", node->attribute_float("scale", 1.0F));
    Value* scaled = binary("Mul", node->input(0), scale, name + ".scaled", node);
    if (node->attribute_int("sqrt_mode", 0) != 0)
      scaled = binary("Mul", scaled, scale, name + ".scaled_twice", node);
    const auto half = static_cast<float>(1 << (result.bits - 1));
    Value* rounded = add_named(graph_, "Round", {scaled}, name + ".rounded", node)->output();
    Value* shifted = binary("Add", rounded, add_scalar(graph_, name + ".offset", offset),
                            name + ".shifted", node);
    result.integers = clip(shifted, -half, half - 1.0F, name, node);
    if (is_exposed(*node->output())) yield_integers(node, result);
    quantized_[node->output()] = result;
  }

  /// An output of the graph holds the integers themselves.
  void yield_integers(Node* quant, const Quantized& result) {
    const DataType type = result.bits == 16 ? DataType::kInt16 : DataType::kInt8;
    Value* integers = cast(result.integers, type, quant->label() + ".output", quant);
    Value* output = quant->output();
    graph_.detach_output(quant, 0, quant->label() + ".unused");
    graph_.give_producer(output, integers->producer());
  }

  int activation_bits(const Node& node) const {
    const std::string type = node.attribute_string("dst_type", "INT8");
    if (type.starts_with("INT16")) return 16;
    if (type.starts_with("INT4"))
      raise(ErrorCode::kUnsupported, "AscendQuant '{}': INT4 cannot be run here", node.label());
    return 8;
  }

  const Quantized* quantized_input(const Node& node) const {
    const auto found = quantized_.find(node.input(0));
    return found == quantized_.end() ? nullptr : &found->second;
  }

  void lower_layer(Node* node) {
    const Quantized quantized = *quantized_input(*node);
    const std::optional<ir::LayerView> view = ir::view_onnx_layer(*node);
    if (!view)
      raise(ErrorCode::kUnsupported, "{} '{}' reads quantized data; only layers can be run so",
            node->op_type, node->label());
    if (view->kind == LayerKind::kAveragePool) {
      node->set_input(
          0, without_offset(quantized.integers, quantized.offset, node->label() + ".data", node));
      node->output()->type.data_type = DataType::kFloat;
      return;
    }
    if (view->weight->constant() == nullptr)
      raise(ErrorCode::kUnsupported, "{} '{}': two inputs quantized at run time cannot be run here",
            node->op_type, node->label());
    Value* product = view->kind == LayerKind::kConvTranspose ? transposed_product(*view, quantized)
                                                             : integer_product(*view, quantized);
    if (view->bias != nullptr) product = add_bias(*view, product);
    if (view->kind == LayerKind::kConv || view->kind == LayerKind::kConvTranspose)
      weight_rank_[product] = view->weight->constant()->rank();
    Value* result = node->output();
    graph_.detach_output(node, 0, node->label() + ".unused");
    Graph::replace_uses(result, product);
    graph_.remove_value(result);
    graph_.remove_node(node);
  }

  /// ConvInteger or MatMulInteger on unsigned operands; two of them for 16-bit activations.
  Value* integer_product(const ir::LayerView& view, const Quantized& quantized) {
    Node* node = view.node;
    Value* weight = unsigned_weight(view);
    if (quantized.bits == 8) {
      Value* data = to_uint8(quantized.integers, 128.0F, node->label() + ".data", node);
      return integer_layer(view, data, quantized.offset + 128, weight, node->label() + ".product");
    }
    const Bytes bytes = split(quantized, node);
    Value* high = integer_layer(view, to_uint8(bytes.high, 128.0F, node->label() + ".high8", node),
                                bytes.high_offset + 128, weight, node->label() + ".high_product");
    Value* low = integer_layer(view, to_uint8(bytes.low, 0.0F, node->label() + ".low8", node),
                               bytes.low_offset, weight, node->label() + ".low_product");
    return join(high, low, node);
  }

  /// q = 256 * high + low with high in [-128, 127] and low in [0, 255]; the offset likewise.
  struct Bytes {
    Value* high;
    Value* low;
    std::int32_t high_offset;
    std::int32_t low_offset;
  };
  Bytes split(const Quantized& quantized, Node* node) {
    Value* base = add_scalar(graph_, node->label() + ".256", 256.0F);
    Value* quotient = binary("Div", quantized.integers, base, node->label() + ".quotient", node);
    Value* high = add_named(graph_, "Floor", {quotient}, node->label() + ".high", node)->output();
    Value* multiple = binary("Mul", high, base, node->label() + ".multiple", node);
    Value* low = binary("Sub", quantized.integers, multiple, node->label() + ".low", node);
    const auto high_offset = static_cast<std::int32_t>(std::floor(quantized.offset / 256.0));
    return {high, low, high_offset, quantized.offset - 256 * high_offset};
  }

  /// 256 * high + low, of the layer's products.
  Value* join(Value* high, Value* low, Node* node) {
    Value* scaled = binary("Mul", high, add_scalar(graph_, node->label() + ".i256", 256),
                           node->label() + ".high_scaled", node);
    return binary("Add", scaled, low, node->label() + ".both", node);
  }

  Value* integer_layer(const ir::LayerView& view, Value* data, std::int32_t zero_point,
                       Value* weight, const std::string& name) {
    Node* node = view.node;
    const bool conv = view.kind == LayerKind::kConv;
    Value* data_zero =
        add_scalar(graph_, name + ".data_zero", static_cast<std::uint8_t>(zero_point));
    Value* weight_zero = add_scalar(graph_, name + ".weight_zero", std::uint8_t{128});
    Node* product = add_named(graph_, conv ? "ConvInteger" : "MatMulInteger",
                              {data, weight, data_zero, weight_zero}, name, node);
    if (conv)
      for (const char* attribute :
           {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"})
        if (const ir::Attribute* found = node->find_attribute(attribute)) copy(*found, *product);
    return product->output();
  }

  static void copy(const ir::Attribute& attribute, Node& to) {
    if (const auto* text = std::get_if<std::string>(&attribute.data))
      to.set_attribute(attribute.name, *text);
    else if (const auto* number = std::get_if<std::int64_t>(&attribute.data))
      to.set_attribute(attribute.name, *number);
    else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute.data))
      to.set_attribute(attribute.name, *list);
  }

  /// The int8 weight plus 128: products of unsigned operands never saturate on the way to int32.
  Value* unsigned_weight(const ir::LayerView& view) {
    const bool turned = view.kind == LayerKind::kGemm && view.node->attribute_int("transB", 0) != 0;
    const ir::Tensor& stored = *view.weight->constant();
    const ir::Tensor weight = turned ? transposed(stored) : stored;
    std::vector<std::uint8_t> values;
    values.reserve(static_cast<std::size_t>(weight.size()));
    for (const std::int8_t value : weight.values<std::int8_t>())
      values.push_back(static_cast<std::uint8_t>(value + 128));
    return graph_.add_constant(view.weight->name() + ".uint8",
                               ir::Tensor::of<std::uint8_t>(weight.dims(), values));
  }

  Value* transposed_product(const ir::LayerView& view, const Quantized& quantized) {
    Node* node = view.node;
    const std::string& name = node->label();
    if (quantized.bits == 8)
      return digit_product(
          view, without_offset(quantized.integers, quantized.offset, name + ".data", node), name);
    const Bytes bytes = split(quantized, node);
    Value* high = without_offset(bytes.high, bytes.high_offset, name + ".high_data", node);
    Value* low = without_offset(bytes.low, bytes.low_offset, name + ".low_data", node);
    return join(digit_product(view, high, name + ".high"), digit_product(view, low, name + ".low"),
                node);
  }

  /// ONNX has no integer ConvTranspose. The weight is cut into digits so small that each float32
  /// ConvTranspose of integers is exact; the digits are added up in int32. |data| <= 255.
  Value* digit_product(const ir::LayerView& view, Value* data, const std::string& prefix) {
    Node* node = view.node;
    const ir::Tensor& weight = *view.weight->constant();
    const double products =
        static_cast<double>(weight.size()) / static_cast<double>(view.output_channels);
    int digit_bits = 8;
    while (digit_bits > 1 && products * 255.0 * ((1 << digit_bits) - 1) >= kExactFloat)
      --digit_bits;
    Value* sum = nullptr;
    for (int shift = 0; shift < 8; shift += digit_bits) {
      const std::string name = fmt::format("{}.digit{}", prefix, shift);
      const bool top = shift + digit_bits >= 8;
      Value* digits = weight_digits(weight, shift, top ? 8 - shift : digit_bits, top, name);
      Node* product = add_named(graph_, "ConvTranspose", {data, digits}, name, node);
      for (const ir::Attribute& attribute : node->attributes) copy(attribute, *product);
      Value* part = cast(product->output(), DataType::kInt32, name + ".int32", node);
      if (shift > 0)
        part = binary("Mul", part, add_scalar(graph_, name + ".power", 1 << shift),
                      name + ".scaled", node);
      sum = sum == nullptr ? part : binary("Add", sum, part, name + ".sum", node);
    }
    return sum;
  }

  /// Bits [shift, shift + bits) of each weight; the top digit carries the sign.
  Value* weight_digits(const ir::Tensor& weight, int shift, int bits, bool top,
                       const std::string& name) {
    std::vector<float> digits;
    digits.reserve(static_cast<std::size_t>(weight.size()));
    for (const std::int8_t value : weight.values<std::int8_t>()) {
      const int shifted = value >> shift;
      digits.push_back(static_cast<float>(top ? shifted : shifted & ((1 << bits) - 1)));
    }
    return add_vector(graph_, name + ".weight", digits, weight.dims());
  }

  Value* add_bias(const ir::LayerView& view, Value* product) {
    const ir::Tensor* bias = view.bias->constant();
    std::vector<std::int64_t> dims{bias->size()};
    if (view.kind != LayerKind::kGemm)
      for (std::size_t i = 2; i < view.weight->constant()->rank(); ++i) dims.push_back(1);
    Value* constant = graph_.add_constant(view.bias->name() + ".int32", bias->reshaped(dims));
    return binary("Add", product, constant, view.node->label() + ".biased", view.node);
  }

  void lower_dequant(Node* node) {
    const std::string name = node->label();
    Value* input = cast(node->input(0), DataType::kFloat, name + ".float", node);
    const auto words = node->input(1)->constant()->values<std::uint64_t>();
    const int shift = static_cast<int>((words[0] >> 32) & 0xFFU);
    if (shift != 0) input = shifted_to_int16(input, shift, name, node);
    std::vector<float> scales;
    for (const std::uint64_t word : words)
      scales.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)) *
                       std::ldexp(1.0F, shift));
    Value* scale = add_vector(graph_, name + ".scale", scales, scale_dims(*node, scales.size()));
    Value* output = binary("Mul", input, scale, name + ".scaled", node);
    if (node->attribute_int("sqrt_mode", 0) != 0)
      output = binary("Mul", output, scale, name + ".scaled_twice", node);
    if (node->attribute_int("relu_flag", 0) != 0)
      output = add_named(graph_, "Relu", {output}, name + ".relu", node)->output();
    take_over(node, output);
  }

  Value* shifted_to_int16(Value* input, int shift, const std::string& name, Node* node) {
    Value* power = add_scalar(graph_, name + ".power", std::ldexp(1.0F, shift));
    Value* quotient = binary("Div", input, power, name + ".quotient", node);
    Value* floor = add_named(graph_, "Floor", {quotient}, name + ".floor", node)->output();
    return clip(floor, -32768.0F, 32767.0F, name + ".int16", node);
  }

  /// Per-channel scales stand along axis 1 of a convolution's result and along the last axis of a
  /// product; the layer in front tells which.
  std::vector<std::int64_t> scale_dims(const Node& dequant, std::size_t count) const {
    std::vector<std::int64_t> dims{static_cast<std::int64_t>(count)};
    if (count == 1) return {};
    const auto rank = weight_rank_.find(dequant.input(0));
    if (rank != weight_rank_.end())
      for (std::size_t i = 2; i < rank->second; ++i) dims.push_back(1);
    return dims;
  }

  void lower_anti_quant(Node* node) {
    const Quantized* quantized = quantized_input(*node);
    if (quantized == nullptr)
      raise(ErrorCode::kUnsupported, "AscendAntiQuant '{}': its input must be an AscendQuant",
            node->label());
    const std::string name = node->label();
    Value* scale = add_scalar(graph_, name + ".scale", node->attribute_float("scale", 1.0F));
    const auto offset = static_cast<std::int32_t>(node->attribute_float("offset", 0.0F));
    Value* output =
        binary("Mul", without_offset(quantized->integers, offset, name + ".centred", node), scale,
               name + ".scaled", node);
    if (node->attribute_int("sqrt_mode", 0) != 0)
      output = binary("Mul", output, scale, name + ".scaled_twice", node);
    take_over(node, output);
  }

  /// Removes `node`, whose result is now computed by the producer of `output`, under the old name.
  void take_over(Node* node, Value* output) {
    Value* result = node->output();
    graph_.detach_output(node, 0, node->label() + ".unused");
    Node* producer = output->producer();
    const std::size_t index = output->producer_index();
    graph_.give_producer(result, producer, index);
    graph_.remove_node(node);
  }

  Value* without_offset(Value* integers, std::int32_t offset, const std::string& name,
                        Node* before) {
    Value* constant = add_scalar(graph_, name + ".offset", static_cast<float>(offset));
    return binary("Sub", integers, constant, name, before);
  }

  Value* to_uint8(Value* integers, float shift, const std::string& name, Node* before) {
    if (shift != 0.0F)
      integers = binary("Add", integers, add_scalar(graph_, name + ".shift", shift),
                        name + ".shifted", before);
    return cast(integers, DataType::kUInt8, name, before);
  }

  Value* clip(Value* input, float low, float high, const std::string& name, Node* before) {
    return add_named(graph_, "Clip",
                     {input, add_scalar(graph_, name + ".min", low),
                      add_scalar(graph_, name + ".max", high)},
                     name + ".clipped", before)
        ->output();
  }

  Value* cast(Value* input, DataType type, const std::string& name, Node* before) {
    Node* node = add_named(graph_, "Cast", {input}, name, before);
    node->set_attribute("to", static_cast<std::int64_t>(type));
    return node->output();
  }

  Value* binary(const char* op_type, Value* left, Value* right, const std::string& name,
                Node* before) {
    return add_named(graph_, op_type, {left, right}, name, before)->output();
  }

  void check_all_lowered(const Value& quantized) const {
    if (quantized.uses().empty()) return;
    const Node& reader = *quantized.uses()[0].node;
    raise(ErrorCode::kUnsupported, "{} '{}' reads the output of an AscendQuant; this cannot be run",
          reader.op_type, reader.label());
  }

  Graph& graph_;
  std::map<const Value*, Quantized> quantized_;
  /// Rank of the weight of the convolution that computed a value.
  std::map<const Value*, std::size_t> weight_rank_;
};

}  // namespace

bool is_deploy_model(const ir::Model& model) {
  return std::ranges::any_of(model.graph->nodes(),
                             [](const auto& node) { return is_ascend(*node); });
}

void lower_deploy(ir::Model& model) {
  for (const Finding& finding : check_deploy_nodes(model))
    if (finding.severity == Severity::kError)
      raise(ErrorCode::kInvalidModel, "node '{}': {}", finding.node, finding.message);
  if (const auto refused = raise_opset(model, kNeededOpset); !refused.empty())
    raise(
        ErrorCode::kUnsupported,
        "the deploy model has operator set {}; running it needs {}, to which it cannot be raised: "
        "{}",
        model.opset(), kNeededOpset, refused.front());
  Lowering(model).run();
  model.graph->for_each_graph([](ir::Graph& graph) {
    for (const auto& node : graph.nodes())
      if (is_ascend(*node))
        raise(ErrorCode::kUnsupported, "{} '{}' lies inside a subgraph; this cannot be run",
              node->op_type, node->label());
  });
  allow_plain_initializers(model);
}

}  // namespace amct::passes
