#include "amct/passes/raise_opset.h"

#include <fmt/core.h>

#include <algorithm>

#include "amct/base/error.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;
/// Empty, or why the node has no equal form.
using Refusal = std::string;

void set_ints(ir::Node& node, std::size_t index, std::string_view name, const Dims& values) {
  const std::string hint = fmt::format("{}.{}", node.output()->name(), name);
  node.set_input(index, node.graph()->add_constant(
                            hint, ir::Tensor::of<std::int64_t>(
                                      {static_cast<std::int64_t>(values.size())}, values)));
}

void set_tensor(ir::Node& node, std::size_t index, std::string_view name, ir::Tensor tensor) {
  const std::string hint = fmt::format("{}.{}", node.output()->name(), name);
  node.set_input(index, node.graph()->add_constant(hint, std::move(tensor)));
}

/// The attribute of integers becomes input `index`; nothing happens when there is none.
void move_ints(ir::Node& node, std::string_view attribute, std::size_t index) {
  if (node.find_attribute(attribute) == nullptr) return;
  set_ints(node, index, attribute, node.attribute_ints(attribute, {}));
  node.remove_attribute(attribute);
}

/// The attribute becomes input `index`, a scalar of the type of the node's data.
void move_number(ir::Node& node, std::string_view attribute, std::size_t index) {
  if (node.find_attribute(attribute) == nullptr) return;
  const float value = node.attribute_float(attribute, 0.0F);
  const ir::DataType known = node.input(0)->type.data_type;
  const ir::DataType type =
      known != ir::DataType::kUndefined ? known : node.output()->type.data_type;
  ir::Tensor scalar = ir::Tensor::scalar(value);
  if (type == ir::DataType::kDouble) {
    scalar = ir::Tensor::scalar(static_cast<double>(value));
  } else if (type == ir::DataType::kFloat16) {
    scalar = ir::Tensor::zeros(type, {});
    scalar.mutable_values<std::uint16_t>()[0] = ir::float_to_half(value);
  }
  set_tensor(node, index, attribute, std::move(scalar));
  node.remove_attribute(attribute);
}

Refusal drop_spatial(ir::Node& node) {
  if (node.attribute_int("spatial", 1) != 1)
    return "normalization per element (spatial = 0) was removed in operator set 9";
  node.remove_attribute("spatial");
  return {};
}

Refusal refuse_scan(ir::Node&) { return "Scan changed its inputs in operator set 9"; }

Refusal scales_to_input(ir::Node& node) {
  const ir::Attribute* scales = node.find_attribute("scales");
  const auto* values = scales != nullptr ? std::get_if<std::vector<float>>(&scales->data) : nullptr;
  if (values == nullptr) return "it has no attribute 'scales'";
  set_tensor(node, 1, "scales",
             ir::Tensor::of<float>({static_cast<std::int64_t>(values->size())}, *values));
  node.remove_attribute("scales");
  return {};
}

Refusal upsample_to_resize(ir::Node& node) {
  node.op_type = "Resize";
  return {};
}

Refusal slice_to_inputs(ir::Node& node) {
  move_ints(node, "starts", 1);
  move_ints(node, "ends", 2);
  move_ints(node, "axes", 3);
  return {};
}

Refusal top_k_to_input(ir::Node& node) {
  set_ints(node, 1, "k", {node.attribute_int("k", 1)});
  node.remove_attribute("k");
  return {};
}

Refusal clip_to_inputs(ir::Node& node) {
  move_number(node, "min", 1);
  move_number(node, "max", 2);
  return {};
}

Refusal pad_to_inputs(ir::Node& node) {
  move_ints(node, "pads", 1);
  move_number(node, "value", 2);
  return {};
}

/// Before operator set 11, output position p reads input position p / scale, rounded down.
Refusal resize_with_modes(ir::Node& node) {
  const bool nearest = node.attribute_string("mode", "nearest") == "nearest";
  const ir::Tensor* scales = float_weight(node.input(1));
  if (node.input(1) == nullptr) return "it has no scales";
  if (nearest && scales == nullptr) return "its scales are not constant";
  if (nearest && std::ranges::any_of(scales->values<float>(), [](float s) { return !(s >= 1.0F); }))
    return "it shrinks with mode 'nearest', which engines round differently before operator set 11";
  ir::Value* scale_input = node.input(1);
  set_tensor(node, 1, "roi", ir::Tensor::zeros(ir::DataType::kFloat, {0}));
  node.set_input(2, scale_input);
  node.set_attribute("coordinate_transformation_mode", std::string("asymmetric"));
  if (nearest) node.set_attribute("nearest_mode", std::string("floor"));
  return {};
}

Refusal scatter_to_elements(ir::Node& node) {
  node.op_type = "ScatterElements";
  return {};
}

Refusal dropout_to_input(ir::Node& node) {
  if (node.find_attribute("ratio") == nullptr) return {};
  set_tensor(node, 1, "ratio", ir::Tensor::scalar(node.attribute_float("ratio", 0.5F)));
  node.remove_attribute("ratio");
  return {};
}

/// Adds Shape and Flatten before the node and Reshape behind it, which takes over its output.
void flatten_around(ir::Node& node, std::int64_t axis) {
  ir::Graph& graph = *node.graph();
  ir::Value* input = node.input(0);
  ir::Value* output = node.output();
  const std::string base = node.name.empty() ? output->name() : node.name;
  const auto named = [&](ir::Node* added, const char* suffix) {
    added->name = graph.unique_node_name(fmt::format("{}.{}", base, suffix));
    return added->output();
  };
  ir::Value* shape =
      named(graph.insert_node("Shape", {input}, output->name() + ".shape", &node), "shape");
  ir::Node* flatten = graph.insert_node("Flatten", {input}, output->name() + ".flat", &node);
  flatten->set_attribute("axis", axis);
  node.set_input(0, named(flatten, "flatten"));
  ir::Value* flat = graph.add_value(graph.unique_name(output->name() + ".flat"));
  graph.give_producer(flat, &node);
  ir::Node* reshape = graph.add_node("Reshape", {flat, shape}, {output}, &node);
  named(reshape, "reshape");
  graph.move_before(&node, reshape);
}

/// Before operator set 13 everything from `axis` on was one dimension; since then it is only
/// `axis`.
Refusal soft_over_last_axis(ir::Node& node) {
  const std::int64_t axis = node.attribute_int("axis", 1);
  const auto rank = known_rank(*node.input(0));
  const bool last = axis == -1 || (rank && axis == static_cast<std::int64_t>(*rank) - 1);
  if (!last) {
    if (!is_used(*node.output())) return "nothing reads its output";
    flatten_around(node, axis);
  }
  node.set_attribute("axis", std::int64_t{-1});
  return {};
}

Refusal axes_to_input(ir::Node& node) {
  move_ints(node, "axes", 1);
  return {};
}

Refusal split_to_input(ir::Node& node) {
  move_ints(node, "split", 1);
  return {};
}

struct Step {
  std::int64_t version;
  const char* op_type;
  Refusal (*convert)(ir::Node&);
};

/// In the order of versions, so that a node may pass through several. Source: the operators' change
/// logs in the ONNX specification; operators that are not listed only gained types or defaults.
constexpr Step kSteps[] = {{9, "BatchNormalization", drop_spatial},
                           {9, "Upsample", scales_to_input},
                           {9, "Scan", refuse_scan},
                           {10, "Upsample", upsample_to_resize},
                           {10, "Slice", slice_to_inputs},
                           {10, "TopK", top_k_to_input},
                           {11, "Clip", clip_to_inputs},
                           {11, "Pad", pad_to_inputs},
                           {11, "Resize", resize_with_modes},
                           {11, "Scatter", scatter_to_elements},
                           {12, "Dropout", dropout_to_input},
                           {13, "Softmax", soft_over_last_axis},
                           {13, "LogSoftmax", soft_over_last_axis},
                           {13, "Hardmax", soft_over_last_axis},
                           {13, "Squeeze", axes_to_input},
                           {13, "Unsqueeze", axes_to_input},
                           {13, "ReduceSum", axes_to_input},
                           {13, "Split", split_to_input}};

std::vector<std::string> convert(ir::Model& model, std::int64_t target) {
  std::vector<std::string> refused;
  const std::int64_t from = model.opset();
  const auto convert_node = [&](ir::Node& node) {
    for (const Step& step : kSteps) {
      if (step.version <= from || step.version > target || !is_op(node, step.op_type)) continue;
      const bool complete = node.input(0) != nullptr && node.output() != nullptr;
      const Refusal refusal = complete ? step.convert(node) : "it lacks an input or an output";
      if (refusal.empty()) continue;
      refused.push_back(fmt::format("{} '{}': {}", node.op_type, node.label(), refusal));
      return;
    }
  };
  model.graph->for_each_graph([&](ir::Graph& graph) {
    for (ir::Node* node : graph.node_list()) convert_node(*node);
  });
  model.opset_imports.erase("ai.onnx");
  model.opset_imports[""] = target;
  return refused;
}

}  // namespace

std::vector<std::string> raise_opset(ir::Model& model, std::int64_t target) {
  if (target > kNewestRaised)
    raise(ErrorCode::kInternal, "models are raised to operator set {} at most, not {}",
          kNewestRaised, target);
  const std::int64_t from = model.opset();
  if (from >= target) return {};
  if (from < kOldestRaisable)
    return {
        fmt::format("the whole model: operator set {} is older than {}", from, kOldestRaisable)};
  // Tried on a copy, so that nodes and values of the model live on when something is refused.
  ir::Model trial = model.clone();
  std::vector<std::string> refused = convert(trial, target);
  if (!refused.empty()) return refused;
  convert(model, target);
  allow_plain_initializers(model);
  return {};
}

}  // namespace amct::passes
