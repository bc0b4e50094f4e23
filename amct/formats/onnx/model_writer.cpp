#include "amct/formats/onnx/model_writer.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "amct/base/error.h"
#include "amct/formats/onnx/tensor_codec.h"
#include "amct/formats/onnx/type_codec.h"

namespace amct::onnx {
namespace {

/// Tag of a length-delimited field.
constexpr char tag(int number) { return static_cast<char>(number << 3 | 2); }
constexpr char kGraphTag = tag(7);
constexpr char kInitializerTag = tag(5);
constexpr char kRawDataTag = tag(9);

/// First IR version in which initializers need not be graph inputs.
constexpr std::int64_t kFreeInitializers = 4;

std::string delimited(char field, std::uint64_t length) {
  std::string bytes(1, field);
  for (; length >= 0x80; length >>= 7) bytes += static_cast<char>((length & 0x7F) | 0x80);
  bytes += static_cast<char>(length);
  return bytes;
}

std::string raw_prefix(const StreamedInitializer& initializer) {
  if (initializer.raw == nullptr) return {};
  return delimited(kRawDataTag, initializer.raw->bytes().size());
}

std::uint64_t size_of(const StreamedInitializer& initializer) {
  const std::uint64_t raw = initializer.raw != nullptr ? initializer.raw->bytes().size() : 0;
  return initializer.head.size() + raw_prefix(initializer).size() + raw;
}

std::string normalised(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

void put_opsets(const ir::Model& model, schema::Model& message) {
  google::protobuf::RepeatedPtrField<schema::OperatorSet> kept;
  kept.Swap(message.mutable_opset_import());
  for (const auto& [domain, version] : model.opset_imports) {
    schema::OperatorSet& opset = *message.add_opset_import();
    const auto found = std::ranges::find_if(kept, [&name = domain](const schema::OperatorSet& old) {
      return normalised(old.domain()) == name;
    });
    if (found != kept.end())
      opset = *found;
    else if (!domain.empty())
      opset.set_domain(domain);
    opset.set_version(version);
  }
}

/// The version to write: files before version 4 must list every initializer as graph input.
std::int64_t ir_version_for(const ir::Model& model, bool lifted) {
  if (model.ir_version >= kFreeInitializers) return model.ir_version;
  const bool free = std::ranges::any_of(
      model.graph->constants(), [](const ir::Value* value) { return !value->is_graph_input(); });
  return free || lifted ? kFreeInitializers : model.ir_version;
}

}  // namespace

ModelPieces::ModelPieces(const ir::Model& model, ExternalPlan& plan) {
  schema::Graph graph;
  initializers_ = GraphWriter(plan).write_main(*model.graph, graph);
  graph_ = graph.SerializePartialAsString();
  graph.Clear();
  graph_size_ = graph_.size();
  for (const StreamedInitializer& initializer : initializers_) {
    const std::uint64_t size = size_of(initializer);
    graph_size_ += delimited(kInitializerTag, size).size() + size;
  }
  schema::Model message;
  if (!model.extra.empty()) parse_remainder(model.extra, message);
  message.set_ir_version(ir_version_for(model, plan.lift_constant_nodes));
  if (!model.producer_name.empty()) message.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) message.set_producer_version(model.producer_version);
  put_opsets(model, message);
  for (const auto& [key, value] : model.metadata) {
    schema::KeyValue& entry = *message.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  head_ = message.SerializePartialAsString();
}

std::uint64_t ModelPieces::size() const {
  return head_.size() + delimited(kGraphTag, graph_size_).size() + graph_size_;
}

void ModelPieces::check_size() const {
  if (size() <= static_cast<std::uint64_t>(std::numeric_limits<int>::max())) return;
  raise(ErrorCode::kUnsupported,
        "the model file would have {} bytes; ONNX files are limited to 2 GB, save it with external "
        "data (a lower threshold)",
        size());
}

void ModelPieces::write(const std::function<void(std::string_view)>& sink) const {
  sink(head_);
  sink(delimited(kGraphTag, graph_size_));
  sink(graph_);
  for (const StreamedInitializer& initializer : initializers_) {
    sink(delimited(kInitializerTag, size_of(initializer)) + initializer.head +
         raw_prefix(initializer));
    if (initializer.raw != nullptr) sink(as_text(initializer.raw->bytes()));
  }
}

}  // namespace amct::onnx
