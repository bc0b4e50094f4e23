#include "amct/passes/decompose_conv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <utility>

#include "amct/base/assert.h"
#include "amct/passes/layer_rewrite.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using decompose::ConvShape;
using decompose::Factors;
using decompose::Layer;
using decompose::LayerResult;
using decompose::Weights;
using ir::DataType;

constexpr double kLargestHalf = 65504.0;

std::string refusal(const ir::Node& node, const ir::Model& model) {
  const ir::Value* weight = node.input(1);
  if (weight == nullptr || weight->constant() == nullptr) return "its weight is not a constant";
  if (weight->is_graph_input() && model.ir_version >= 4)
    return "its weight is a model input, which the caller may replace";
  const ir::Tensor& tensor = *weight->constant();
  if (tensor.rank() != 4)
    return fmt::format("its weight has {} dimensions; 2-D convolutions have 4", tensor.rank());
  if (tensor.type() != DataType::kFloat && tensor.type() != DataType::kFloat16 &&
      tensor.type() != DataType::kDouble)
    return fmt::format("its weight is {}; float16, float32 and float64 are decomposed",
                       ir::to_string(tensor.type()));
  for (const char* name : {"strides", "dilations"})
    if (const auto values = node.attribute_ints(name, {1, 1}); values.size() != 2)
      return fmt::format("its attribute {} has {} values, expected 2", name, values.size());
  if (const auto pads = node.attribute_ints("pads", {0, 0, 0, 0}); pads.size() != 4)
    return fmt::format("its attribute pads has {} values, expected 4", pads.size());
  return {};
}

ConvShape shape_of(const ir::Node& node) {
  const std::vector<std::int64_t>& dims = node.input(1)->constant()->dims();
  const auto strides = node.attribute_ints("strides", {1, 1});
  const auto dilations = node.attribute_ints("dilations", {1, 1});
  const std::int64_t groups = node.attribute_int("group", 1);
  return {dims[0],    dims[1] * groups, dims[2],      dims[3], strides[0],
          strides[1], dilations[0],     dilations[1], groups};
}

Weights read_weights(const ir::Tensor& tensor) {
  if (tensor.type() != DataType::kDouble) return ir::to_float(tensor);
  const auto values = tensor.values<double>();
  return std::vector<double>(values.begin(), values.end());
}

/// Height times width where both are declared, else 0.
std::int64_t declared_positions(const ir::Value& output) {
  const auto& shape = output.type.shape;
  if (!shape || shape->size() != 4 || !(*shape)[2].value || !(*shape)[3].value) return 0;
  return *(*shape)[2].value * *(*shape)[3].value;
}

Layer describe(const ir::Node& node, const ir::Model& model,
               const std::map<std::string, std::int64_t>& positions) {
  Layer layer;
  layer.name = node.name;
  layer.refusal = refusal(node, model);
  if (!layer.refusal.empty()) return layer;
  const ir::Tensor& weight = *node.input(1)->constant();
  layer.shape = shape_of(node);
  layer.read_weights = [weight] { return read_weights(weight); };
  layer.weight_id = node.input(1)->name();
  if (weight.type() == DataType::kFloat16) layer.largest_value = kLargestHalf;
  if (weight.type() == DataType::kDouble) layer.largest_value = DBL_MAX;
  const auto known = positions.find(node.output()->name());
  layer.output_positions =
      known != positions.end() ? known->second : declared_positions(*node.output());
  return layer;
}

ir::Tensor to_tensor(const Weights& weights, const std::array<std::int64_t, 4>& shape,
                     DataType type) {
  const std::vector<std::int64_t> dims(shape.begin(), shape.end());
  if (type == DataType::kDouble)
    return ir::Tensor::of<double>(dims, std::get<std::vector<double>>(weights));
  const auto& values = std::get<std::vector<float>>(weights);
  if (type == DataType::kFloat) return ir::Tensor::of<float>(dims, values);
  ir::Tensor half = ir::Tensor::zeros(type, dims);
  const auto bits = half.mutable_values<std::uint16_t>();
  for (std::size_t i = 0; i < values.size(); ++i) bits[i] = ir::float_to_half(values[i]);
  return half;
}

/// Which kernel axis a convolution keeps: stride, padding and dilation of the other one are
/// neutral.
void keep_axis(ir::Node& node, bool height, const ir::Value& weight) {
  using Ints = std::vector<std::int64_t>;
  const Ints& dims = weight.constant()->dims();
  const Ints strides = node.attribute_ints("strides", {1, 1});
  const Ints pads = node.attribute_ints("pads", {0, 0, 0, 0});
  node.set_attribute("kernel_shape", Ints{dims[2], dims[3]});
  node.set_attribute("strides", height ? Ints{strides[0], 1} : Ints{1, strides[1]});
  if (node.find_attribute("pads") != nullptr)
    node.set_attribute("pads",
                       height ? Ints{pads[0], 0, pads[2], 0} : Ints{0, pads[1], 0, pads[3]});
}

void copy_attributes(const ir::Node& from, ir::Node& to) {
  if (from.find_attribute("auto_pad") != nullptr)
    to.set_attribute("auto_pad", from.attribute_string("auto_pad", ""));
  for (const char* name : {"strides", "pads", "dilations"})
    if (from.find_attribute(name) != nullptr) to.set_attribute(name, from.attribute_ints(name, {}));
}

/// The two weights of one result; layers that share the original go on sharing them.
struct FactorValues {
  ir::Value* first = nullptr;
  ir::Value* last = nullptr;
};

FactorValues add_factors(ir::Node& node, const Factors& factors) {
  const ir::Value& weight = *node.input(1);
  const DataType type = weight.constant()->type();
  ir::Graph& graph = *weight.graph();
  const auto add = [&](const char* suffix, const Weights& values,
                       const std::array<std::int64_t, 4>& shape) {
    return graph.add_constant(weight.name() + suffix, to_tensor(values, shape, type));
  };
  return {add(".0", factors.first, factors.first_shape),
          add(".1", factors.last, factors.last_shape)};
}

std::vector<std::string> split(ir::Node& node, const FactorValues& factors, decompose::Mode mode) {
  ir::Graph& graph = *node.graph();
  const bool height = decompose::first_has_height(mode);
  const std::string name = node.name;
  ir::Node* first = add_named(graph, "Conv", {node.input(0), factors.first},
                              graph.unique_node_name(name + ".0"), &node);
  copy_attributes(node, *first);
  keep_axis(*first, height, *factors.first);
  keep_axis(node, !height, *factors.last);
  node.set_input(0, first->output());
  replace_input(node, 1, factors.last);
  node.name = graph.unique_node_name(name + ".1");
  return {first->name, node.name};
}

}  // namespace

ConvLayers list_convolutions(ir::Model& model,
                             const std::map<std::string, std::int64_t>& output_positions) {
  ConvLayers found;
  model.graph->for_each_graph([&](ir::Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (node->op_type != "Conv" || !(node->domain.empty() || node->domain == "ai.onnx")) continue;
      found.nodes.push_back(node.get());
      found.layers.push_back(describe(*node, model, output_positions));
    }
  });
  return found;
}

decompose::Padding padding_of(const ir::Node& node, std::int64_t height, std::int64_t width) {
  const std::string rule = node.attribute_string("auto_pad", "NOTSET");
  if (rule == "VALID") return {};
  if (rule == "NOTSET" || rule.empty()) {
    const auto pads = node.attribute_ints("pads", {0, 0, 0, 0});
    return {pads[0], pads[1], pads[2], pads[3]};
  }
  const ConvShape shape = shape_of(node);
  const auto total = [](std::int64_t size, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t outputs = (size + stride - 1) / stride;
    return std::max<std::int64_t>(0, (outputs - 1) * stride + kernel - size);
  };
  const std::int64_t rows = total(height, shape.kernel_h, shape.stride_h);
  const std::int64_t columns = total(width, shape.kernel_w, shape.stride_w);
  const std::int64_t odd = rule == "SAME_LOWER" ? 1 : 0;  // where the odd one of them goes
  const std::int64_t top = (rows + odd) / 2;
  const std::int64_t left = (columns + odd) / 2;
  return {top, left, rows - top, columns - left};
}

std::vector<std::vector<std::string>> decompose_convolutions(ir::Model& model,
                                                             const ConvLayers& convolutions,
                                                             std::span<LayerResult> results) {
  AMCT_ASSERT(results.size() == convolutions.nodes.size());
  std::vector<std::vector<std::string>> names(results.size());
  std::vector<FactorValues> values(results.size());
  // All constants first: a shared weight must still be there when its second layer is split.
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].factors) {
      values[i] = add_factors(*convolutions.nodes[i], *results[i].factors);
      results[i].factors.reset();
    } else if (results[i].shares_with) {
      values[i] = values[*results[i].shares_with];
    }
  }
  allow_plain_initializers(model);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (values[i].first != nullptr)
      names[i] = split(*convolutions.nodes[i], values[i], results[i].mode);
  return names;
}

}  // namespace amct::passes
