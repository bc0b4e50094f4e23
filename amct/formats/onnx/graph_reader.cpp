#include "amct/formats/onnx/graph_reader.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "amct/base/error.h"
#include "amct/formats/onnx/attribute_kind.h"
#include "amct/formats/onnx/type_codec.h"

namespace amct::onnx {
namespace {

/// Takes a text out of a message; an explicit empty text stays, so that it is written again.
#define AMCT_TAKE_TEXT(message, field, target)            \
  do {                                                    \
    if (!(message).field().empty()) {                     \
      (target) = std::move(*(message).mutable_##field()); \
      (message).clear_##field();                          \
    }                                                     \
  } while (false)

void take_declaration(schema::ValueInfo& message, ir::Value& value) {
  message.clear_name();
  if (message.has_type()) {
    value.type = take_type(*message.mutable_type());
    if (has_type(value.type)) message.clear_type();
  }
  value.extra = remainder_of(message);
}

std::string describe_definition(const ir::Value& value) {
  if (value.producer() != nullptr) return fmt::format("node '{}'", value.producer()->label());
  if (value.constant() != nullptr || value.opaque_constant) return "an initializer";
  return "a graph input";
}

/// The kind that an attribute without type (IR version 1) has, judged by its content.
AttributeKind deduce_kind(const schema::Attribute& message) {
  if (message.has_f()) return kFloatKind;
  if (message.has_i()) return kIntKind;
  if (message.has_s()) return kStringKind;
  if (message.has_t()) return kTensorKind;
  if (message.has_g()) return kGraphKind;
  if (message.floats_size() > 0) return kFloatsKind;
  if (message.ints_size() > 0) return kIntsKind;
  if (message.strings_size() > 0) return kStringsKind;
  if (message.tensors_size() > 0) return kTensorsKind;
  if (message.graphs_size() > 0) return kGraphsKind;
  return kNoKind;
}

bool has_known_tensors(const schema::Attribute& message, std::int32_t kind) {
  if (kind == kTensorKind) return is_known_type(message.t().data_type());
  if (kind != kTensorsKind) return true;
  return std::ranges::all_of(message.tensors(), [](const schema::Tensor& tensor) {
    return is_known_type(tensor.data_type());
  });
}

/// Whether anything but empty placeholders is left in a list whose items were taken one by one.
template <typename Items>
bool all_empty(const Items& items) {
  return std::ranges::all_of(items, [](const auto& item) { return item.ByteSizeLong() == 0; });
}

}  // namespace

void GraphReader::read(schema::Graph& message, ir::Graph& graph) {
  AMCT_TAKE_TEXT(message, name, graph.name);
  declare_inputs(message, graph);
  take_constants(message, graph);
  take_nodes(message, graph);
  take_outputs(message, graph);
  take_value_infos(message, graph);
  graph.extra = remainder_of(message);
  graph.sort();
}

void GraphReader::declare_inputs(schema::Graph& message, ir::Graph& graph) {
  for (schema::ValueInfo& input : *message.mutable_input()) {
    if (input.name().empty())
      raise(ErrorCode::kInvalidModel, "graph '{}' has an input without name", graph.name);
    if (graph.find(input.name()) != nullptr)
      raise(ErrorCode::kInvalidModel, "graph input '{}' is listed twice", input.name());
    ir::Value* value = graph.add_value(input.name());
    take_declaration(input, *value);
    graph.add_input(value);
  }
  message.clear_input();
}

namespace {

ir::Value& constant_named(const std::string& name, ir::Graph& graph) {
  if (name.empty())
    raise(ErrorCode::kInvalidModel, "graph '{}' has an initializer without name", graph.name);
  ir::Value* value = graph.find(name);
  if (value == nullptr) return *graph.add_value(name);
  if (value->constant() != nullptr || value->opaque_constant)
    raise(ErrorCode::kInvalidModel, "initializer '{}' is listed twice", name);
  return *value;
}

void set_type_of(const ir::Tensor& tensor, ir::Value& value) {
  if (has_type(value.type)) return;
  value.type.data_type = tensor.type();
  value.type.shape.emplace();
  for (const std::int64_t dim : tensor.dims()) value.type.shape->push_back({dim, {}});
}

}  // namespace

void GraphReader::take_constants(schema::Graph& message, ir::Graph& graph) {
  google::protobuf::RepeatedPtrField<schema::Tensor> kept;
  for (schema::Tensor& tensor : *message.mutable_initializer()) {
    ir::Value& value = constant_named(tensor.name(), graph);
    if (!is_known_type(tensor.data_type())) {
      inline_external(tensor, files_);
      value.opaque_constant = true;
      kept.Add(std::move(tensor));
      continue;
    }
    value.set_constant(take_tensor(tensor, files_, fmt::format("initializer '{}'", value.name())));
    set_type_of(*value.constant(), value);
    tensor.clear_name();
    value.constant_extra = remainder_of(tensor);
  }
  *message.mutable_initializer() = std::move(kept);
  for (schema::SparseTensor& sparse : *message.mutable_sparse_initializer()) {
    constant_named(sparse.values().name(), graph).opaque_constant = true;
    if (sparse.has_values()) inline_external(*sparse.mutable_values(), files_);
    if (sparse.has_indices()) inline_external(*sparse.mutable_indices(), files_);
  }
}

void GraphReader::take_nodes(schema::Graph& message, ir::Graph& graph) {
  std::vector<ir::Node*> nodes;
  nodes.reserve(static_cast<std::size_t>(message.node_size()));
  for (schema::Node& item : *message.mutable_node()) {
    std::vector<ir::Value*> outputs;
    for (const std::string& name : item.output()) {
      ir::Value* known = name.empty() ? nullptr : graph.find(name);
      if (known != nullptr)
        raise(ErrorCode::kInvalidModel, "tensor '{}' is defined twice: by {} and by {} node '{}'",
              name, describe_definition(*known), item.op_type(), item.name());
      // Declared one by one, so that a node that names an output twice is caught too.
      outputs.push_back(graph.add_value(name));
    }
    if (item.op_type().empty())
      raise(ErrorCode::kInvalidModel, "node '{}' has no operator type", item.name());
    ir::Node* node = graph.add_node(std::move(*item.mutable_op_type()), {}, outputs);
    item.clear_op_type();
    item.clear_output();
    AMCT_TAKE_TEXT(item, name, node->name);
    // The standard domain has two spellings; the IR knows the short one.
    if (item.domain() != "ai.onnx") AMCT_TAKE_TEXT(item, domain, node->domain);
    nodes.push_back(node);
  }
  std::size_t index = 0;
  for (schema::Node& item : *message.mutable_node()) {
    ir::Node& node = *nodes[index++];
    connect(item, node);
    item.clear_input();
    node.attributes.reserve(static_cast<std::size_t>(item.attribute_size()));
    for (schema::Attribute& attribute : *item.mutable_attribute())
      node.attributes.push_back(take_attribute(attribute, node));
    item.clear_attribute();
    node.extra = remainder_of(item);
  }
  message.clear_node();
}

void GraphReader::connect(const schema::Node& message, ir::Node& node) {
  node.resize_inputs(static_cast<std::size_t>(message.input_size()));
  std::size_t index = 0;
  for (const std::string& name : message.input()) {
    if (!name.empty()) {
      ir::Value* value = node.graph()->find_visible(name);
      if (value == nullptr)
        raise(ErrorCode::kInvalidModel,
              "node '{}' ({}) reads '{}', which is no graph input, no initializer and no output of "
              "a node",
              node.label(), node.op_type, name);
      node.set_input(index, value);
    }
    ++index;
  }
}

void GraphReader::take_outputs(schema::Graph& message, ir::Graph& graph) {
  google::protobuf::RepeatedPtrField<schema::ValueInfo> differing;
  std::unordered_set<const ir::Value*> declared(graph.inputs().begin(), graph.inputs().end());
  for (schema::ValueInfo& output : *message.mutable_output()) {
    ir::Value* value = graph.find_visible(output.name());
    if (value == nullptr || output.name().empty())
      raise(ErrorCode::kInvalidModel,
            "graph output '{}' is no graph input, no initializer and no output of a node",
            output.name());
    graph.add_output(value);
    const bool first = declared.insert(value).second;
    if (first && value->graph() == &graph && value->constant() == nullptr) {
      take_declaration(output, *value);
      continue;
    }
    // A second declaration of the same value is kept only where it says something else.
    ir::Value probe;
    schema::ValueInfo copy = output;
    take_declaration(copy, probe);
    if (probe.type != value->type || probe.extra != value->extra || value->graph() != &graph)
      differing.Add(std::move(output));
  }
  *message.mutable_output() = std::move(differing);
}

void GraphReader::take_value_infos(schema::Graph& message, ir::Graph& graph) {
  google::protobuf::RepeatedPtrField<schema::ValueInfo> kept;
  const std::unordered_set<const ir::Value*> outputs(graph.outputs().begin(),
                                                     graph.outputs().end());
  for (schema::ValueInfo& info : *message.mutable_value_info()) {
    ir::Value* value = info.name().empty() ? nullptr : graph.find(info.name());
    const bool inner = value != nullptr && value->producer() != nullptr &&
                       !outputs.contains(value) && !has_type(value->type) && value->extra.empty();
    const bool empty = !info.has_type() && info.unknown_fields().empty();
    if (!inner || empty)
      kept.Add(std::move(info));
    else
      take_declaration(info, *value);
  }
  *message.mutable_value_info() = std::move(kept);
}

std::unique_ptr<ir::Graph> GraphReader::take_subgraph(schema::Graph& message, ir::Node& node) {
  auto graph = std::make_unique<ir::Graph>();
  graph->set_parent_node(&node);
  read(message, *graph);
  message.Clear();
  return graph;
}

ir::Attribute GraphReader::take_attribute(schema::Attribute& message, ir::Node& node) {
  ir::Attribute attribute;
  attribute.name = std::move(*message.mutable_name());
  message.clear_name();
  try {
    attribute.data = take_data(message, node);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("node '{}', attribute '{}': {}", node.label(),
                                          attribute.name, error.what()));
  }
  if (!std::holds_alternative<ir::OpaqueAttribute>(attribute.data))
    attribute.extra = remainder_of(message);
  return attribute;
}

ir::Attribute::Data GraphReader::take_data(schema::Attribute& message, ir::Node& node) {
  const std::int32_t kind = message.type() != kNoKind ? message.type() : deduce_kind(message);
  const bool known = kind >= kFloatKind && kind <= kGraphsKind && !message.has_ref_attr_name() &&
                     has_known_tensors(message, kind);
  if (!known) {
    inline_external(message, files_);
    return ir::OpaqueAttribute{message.SerializePartialAsString()};
  }
  message.clear_type();
  ir::Attribute::Data data;
  switch (kind) {
    case kFloatKind:
      data = message.f();
      message.clear_f();
      break;
    case kIntKind:
      data = message.i();
      message.clear_i();
      break;
    case kStringKind:
      data = std::move(*message.mutable_s());
      message.clear_s();
      break;
    case kTensorKind:
      data = take_tensor(*message.mutable_t(), files_, "its tensor");
      if (message.t().ByteSizeLong() == 0) message.clear_t();
      break;
    case kGraphKind:
      data = take_subgraph(*message.mutable_g(), node);
      message.clear_g();
      break;
    case kFloatsKind:
      data = std::vector<float>(message.floats().begin(), message.floats().end());
      message.clear_floats();
      break;
    case kIntsKind:
      data = std::vector<std::int64_t>(message.ints().begin(), message.ints().end());
      message.clear_ints();
      break;
    case kStringsKind:
      data = std::vector<std::string>(message.strings().begin(), message.strings().end());
      message.clear_strings();
      break;
    case kTensorsKind: {
      std::vector<ir::Tensor> tensors;
      for (schema::Tensor& tensor : *message.mutable_tensors())
        tensors.push_back(take_tensor(tensor, files_, "one of its tensors"));
      if (all_empty(message.tensors())) message.clear_tensors();
      data = std::move(tensors);
      break;
    }
    default: {
      std::vector<std::unique_ptr<ir::Graph>> graphs;
      for (schema::Graph& graph : *message.mutable_graphs())
        graphs.push_back(take_subgraph(graph, node));
      message.clear_graphs();
      data = std::move(graphs);
    }
  }
  return data;
}

void inline_external(schema::Attribute& message, ExternalFiles& files) {
  if (message.has_t()) inline_external(*message.mutable_t(), files);
  for (schema::Tensor& tensor : *message.mutable_tensors()) inline_external(tensor, files);
  if (message.has_g()) inline_external(*message.mutable_g(), files);
  for (schema::Graph& graph : *message.mutable_graphs()) inline_external(graph, files);
}

void inline_external(schema::Graph& message, ExternalFiles& files) {
  for (schema::Tensor& tensor : *message.mutable_initializer()) inline_external(tensor, files);
  for (schema::Node& node : *message.mutable_node())
    for (schema::Attribute& attribute : *node.mutable_attribute())
      inline_external(attribute, files);
}

}  // namespace amct::onnx
