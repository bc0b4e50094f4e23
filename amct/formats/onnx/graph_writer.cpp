#include "amct/formats/onnx/graph_writer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "amct/base/error.h"
#include "amct/formats/onnx/attribute_kind.h"
#include "amct/formats/onnx/tensor_codec.h"
#include "amct/formats/onnx/type_codec.h"

namespace amct::onnx {
namespace {

/// Page size: engines map the data file.
constexpr std::uint64_t kAlignment = 4096;

void put_declaration(const ir::Value& value, schema::ValueInfo& message) {
  if (!value.extra.empty()) parse_remainder(value.extra, message);
  message.set_name(value.name());
  if (has_type(value.type)) put_type(value.type, *message.mutable_type());
}

/// Opaque constants are in the message already (they came with Graph::extra); those that left the
/// graph since then go.
template <typename Tensors, typename NameOf>
std::size_t keep_present(const ir::Graph& graph, Tensors& tensors, NameOf name_of) {
  Tensors kept;
  for (auto& tensor : tensors) {
    const ir::Value* value = graph.find(name_of(tensor));
    if (value != nullptr && value->opaque_constant) kept.Add(std::move(tensor));
  }
  tensors = std::move(kept);
  return static_cast<std::size_t>(tensors.size());
}

bool agrees(const ir::Value& value, const schema::ValueInfo& info) {
  if (value.constant() == nullptr || !info.type().has_tensor_type()) return true;
  schema::Type copy = info.type();
  const ir::ValueType type = take_type(copy);
  if (type.data_type != value.constant()->type()) return false;
  if (!type.shape) return true;
  const auto& dims = value.constant()->dims();
  return std::ranges::equal(*type.shape, dims, [](const ir::Dim& known, std::int64_t dim) {
    return !known.value || *known.value == dim;
  });
}

}  // namespace

bool ExternalPlan::wants(const ir::Tensor& tensor) const {
  return tensor.type() != ir::DataType::kString && tensor.bytes().size() > above_bytes;
}

std::uint64_t ExternalPlan::place(const ir::Tensor& tensor) {
  const std::uint64_t offset = (size + kAlignment - 1) / kAlignment * kAlignment;
  blobs.push_back({&tensor, offset});
  size = offset + tensor.bytes().size();
  return offset;
}

std::vector<StreamedInitializer> GraphWriter::write_main(const ir::Graph& graph,
                                                         schema::Graph& message) {
  std::vector<StreamedInitializer> result;
  for (const Initializer& initializer : write_body(graph, message)) {
    schema::Tensor tensor;
    StreamedInitializer& streamed = result.emplace_back();
    streamed.raw = write_head(initializer, plan_.wants(*initializer.tensor), tensor);
    streamed.head = tensor.SerializePartialAsString();
  }
  return result;
}

void GraphWriter::write_subgraph(const ir::Graph& graph, schema::Graph& message) {
  for (const Initializer& initializer : write_body(graph, message)) {
    schema::Tensor& tensor = *message.add_initializer();
    const bool external = plan_.in_subgraphs && plan_.wants(*initializer.tensor);
    if (const ir::Tensor* raw = write_head(initializer, external, tensor))
      tensor.set_raw_data(raw->bytes().data(), raw->bytes().size());
  }
}

const ir::Tensor* GraphWriter::write_head(const Initializer& initializer, bool external,
                                          schema::Tensor& message) {
  const ir::Value& value = *initializer.value;
  const ir::Tensor& tensor = *initializer.tensor;
  if (!value.constant_extra.empty()) parse_remainder(value.constant_extra, message);
  message.set_name(value.name());
  const bool strings = tensor.type() == ir::DataType::kString;
  put_tensor(tensor, strings, message);
  if (external) {
    put_external(plan_.location, plan_.place(tensor), tensor.bytes().size(), message);
    plan_.values.push_back(&value);
    return nullptr;
  }
  return strings ? nullptr : &tensor;
}

std::vector<GraphWriter::Initializer> GraphWriter::write_body(const ir::Graph& graph,
                                                              schema::Graph& message) {
  if (!graph.extra.empty()) parse_remainder(graph.extra, message);
  if (!graph.name.empty()) message.set_name(graph.name);
  std::size_t opaque = keep_present(graph, *message.mutable_initializer(),
                                    [](const schema::Tensor& t) { return t.name(); });
  opaque += keep_present(graph, *message.mutable_sparse_initializer(),
                         [](const schema::SparseTensor& t) { return t.values().name(); });
  std::vector<Initializer> initializers;
  for (const ir::Value* value : graph.constants()) {
    if (value->constant() != nullptr)
      initializers.push_back({value, value->constant()});
    else if (opaque-- == 0)
      raise(ErrorCode::kInternal, "the data of the sparse initializer '{}' are lost",
            value->name());
  }
  write_inputs(graph, message);
  write_outputs(graph, message);
  write_value_infos(graph, message);
  message.mutable_node()->Reserve(static_cast<int>(graph.nodes().size()));
  for (const auto& node : graph.nodes()) {
    if (is_lifted(*node))
      initializers.push_back(
          {node->output(), &std::get<ir::Tensor>(node->find_attribute("value")->data)});
    else
      write_node(*node, *message.add_node());
  }
  return initializers;
}

bool GraphWriter::is_lifted(const ir::Node& node) const {
  if (!plan_.lift_constant_nodes || node.op_type != "Constant" || !node.domain.empty())
    return false;
  const ir::Attribute* attribute = node.find_attribute("value");
  const auto* tensor = attribute != nullptr ? std::get_if<ir::Tensor>(&attribute->data) : nullptr;
  return tensor != nullptr && plan_.wants(*tensor) && node.outputs().size() == 1;
}

void GraphWriter::write_inputs(const ir::Graph& graph, schema::Graph& message) const {
  for (const ir::Value* value : graph.inputs()) put_declaration(*value, *message.add_input());
}

void GraphWriter::write_outputs(const ir::Graph& graph, schema::Graph& message) const {
  // Second declarations that differ from the value's own were kept with the graph.
  std::map<std::string, schema::ValueInfo> kept;
  for (schema::ValueInfo& output : *message.mutable_output()) {
    std::string name = output.name();
    kept.emplace(std::move(name), std::move(output));
  }
  message.clear_output();
  for (const ir::Value* value : graph.outputs()) {
    const auto found = kept.find(value->name());
    if (found != kept.end() && agrees(*value, found->second))
      *message.add_output() = found->second;
    else
      put_declaration(*value, *message.add_output());
  }
}

void GraphWriter::write_value_infos(const ir::Graph& graph, schema::Graph& message) const {
  std::set<const ir::Value*> declared(graph.inputs().begin(), graph.inputs().end());
  declared.insert(graph.outputs().begin(), graph.outputs().end());
  google::protobuf::RepeatedPtrField<schema::ValueInfo> kept;
  for (schema::ValueInfo& info : *message.mutable_value_info()) {
    const ir::Value* value = graph.find(info.name());
    // Names that were never defined stay as the file had them.
    const bool own = value != nullptr && !declared.contains(value) &&
                     value->producer() != nullptr && has_type(value->type);
    if (!own && (value == nullptr || agrees(*value, info))) kept.Add(std::move(info));
  }
  *message.mutable_value_info() = std::move(kept);
  for (const auto& node : graph.nodes()) {
    for (const ir::Value* value : node->outputs()) {
      if (value->name().empty() || declared.contains(value)) continue;
      if (has_type(value->type) || !value->extra.empty())
        put_declaration(*value, *message.add_value_info());
    }
  }
}

void GraphWriter::write_node(const ir::Node& node, schema::Node& message) {
  if (!node.extra.empty()) parse_remainder(node.extra, message);
  for (const ir::Value* input : node.inputs())
    message.add_input(input != nullptr ? input->name() : std::string());
  for (const ir::Value* output : node.outputs()) message.add_output(output->name());
  if (!node.name.empty()) message.set_name(node.name);
  message.set_op_type(node.op_type);
  if (!node.domain.empty()) message.set_domain(node.domain);
  for (const ir::Attribute& attribute : node.attributes)
    write_attribute(attribute, *message.add_attribute());
}

namespace {

/// Item `index` of a list whose items may have left remainders.
template <typename Items>
auto& item_at(Items& items, std::size_t index) {
  while (static_cast<std::size_t>(items.size()) <= index) items.Add();
  return items.at(static_cast<int>(index));
}

template <typename Items>
void shrink(Items& items, std::size_t count) {
  while (static_cast<std::size_t>(items.size()) > count) items.RemoveLast();
}

}  // namespace

void GraphWriter::write_attribute(const ir::Attribute& attribute, schema::Attribute& message) {
  if (const auto* opaque = std::get_if<ir::OpaqueAttribute>(&attribute.data)) {
    parse_remainder(opaque->bytes, message);
    message.set_name(attribute.name);
    return;
  }
  if (!attribute.extra.empty()) parse_remainder(attribute.extra, message);
  message.set_name(attribute.name);
  struct Writer {
    GraphWriter& self;
    schema::Attribute& message;

    AttributeKind operator()(float item) {
      message.set_f(item);
      return kFloatKind;
    }
    AttributeKind operator()(std::int64_t item) {
      message.set_i(item);
      return kIntKind;
    }
    AttributeKind operator()(const std::string& item) {
      message.set_s(item);
      return kStringKind;
    }
    AttributeKind operator()(const std::vector<float>& items) {
      message.mutable_floats()->Add(items.begin(), items.end());
      return kFloatsKind;
    }
    AttributeKind operator()(const std::vector<std::int64_t>& items) {
      message.mutable_ints()->Add(items.begin(), items.end());
      return kIntsKind;
    }
    AttributeKind operator()(const std::vector<std::string>& items) {
      message.mutable_strings()->Add(items.begin(), items.end());
      return kStringsKind;
    }
    AttributeKind operator()(const ir::Tensor& tensor) {
      put_tensor(tensor, true, *message.mutable_t());
      return kTensorKind;
    }
    AttributeKind operator()(const std::vector<ir::Tensor>& tensors) {
      auto& items = *message.mutable_tensors();
      for (std::size_t i = 0; i < tensors.size(); ++i)
        put_tensor(tensors[i], true, item_at(items, i));
      shrink(items, tensors.size());
      return kTensorsKind;
    }
    AttributeKind operator()(const std::unique_ptr<ir::Graph>& graph) {
      self.write_subgraph(*graph, *message.mutable_g());
      return kGraphKind;
    }
    AttributeKind operator()(const std::vector<std::unique_ptr<ir::Graph>>& graphs) {
      for (const auto& graph : graphs) self.write_subgraph(*graph, *message.add_graphs());
      return kGraphsKind;
    }
    AttributeKind operator()(const ir::OpaqueAttribute&) { return kNoKind; }
  };
  message.set_type(std::visit(Writer{*this, message}, attribute.data));
}

}  // namespace amct::onnx
