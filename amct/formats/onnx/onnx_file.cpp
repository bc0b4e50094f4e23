#include "amct/formats/onnx/onnx_file.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "amct/base/error.h"
#include "amct/formats/onnx/graph_reader.h"
#include "amct/formats/onnx/identify.h"
#include "amct/formats/onnx/model_writer.h"
#include "amct/formats/onnx/type_codec.h"

namespace amct::onnx {
namespace {

/// Three levels of messages for each nested subgraph: 100 subgraphs deep.
constexpr int kMaxMessageDepth = 300;
/// Smaller tensors stay in the model file even when data are external.
constexpr std::uint64_t kMinExternalBytes = 1024;

[[noreturn]] void raise_foreign(std::string_view bytes) {
  raise(ErrorCode::kInvalidModel, "this looks like {}; expected an ONNX model (.onnx)",
        identify(bytes));
}

schema::Model parse_message(std::string_view bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    raise(ErrorCode::kInvalidModel,
          "the file has {} bytes; an ONNX model file has at most 2 GB (larger models keep their "
          "weights in external data)",
          bytes.size());
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  schema::Model message;
  if (bytes.empty() || !message.ParsePartialFromCodedStream(&stream) ||
      !stream.ConsumedEntireMessage() || !message.has_ir_version() || !message.has_graph())
    raise_foreign(bytes);
  return message;
}

void take_opsets(schema::Model& message, ir::Model& model) {
  google::protobuf::RepeatedPtrField<schema::OperatorSet> kept;
  for (schema::OperatorSet& opset : *message.mutable_opset_import()) {
    const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    const auto [entry, inserted] = model.opset_imports.emplace(domain, opset.version());
    if (!inserted && entry->second != opset.version())
      raise(ErrorCode::kInvalidModel, "the operator set '{}' is imported in version {} and in {}",
            domain, entry->second, opset.version());
    opset.clear_version();
    // An explicit empty domain and the long spelling of the standard one are kept as written.
    if (!domain.empty()) opset.clear_domain();
    if (opset.ByteSizeLong() == 0) continue;
    opset.set_domain(opset.has_domain() ? opset.domain() : domain);
    kept.Add(std::move(opset));
  }
  *message.mutable_opset_import() = std::move(kept);
}

void take_functions(schema::Model& message, ExternalFiles& files, ir::Model& model) {
  for (schema::Function& function : *message.mutable_functions()) {
    model.functions.push_back(fmt::format("{}::{}", function.domain(), function.name()));
    for (schema::Node& node : *function.mutable_node())
      for (schema::Attribute& attribute : *node.mutable_attribute())
        inline_external(attribute, files);
  }
}

/// Names from a hostile file may be long or hold control characters; a message is one line.
std::string one_line(std::string text) {
  constexpr std::size_t kMaxLength = 600;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  if (text.size() > kMaxLength) text = text.substr(0, kMaxLength) + "...";
  return text;
}

ir::Model take_model(schema::Model& message, const std::filesystem::path& folder) {
  ir::Model model;
  ExternalFiles files(folder);
  model.ir_version = message.ir_version();
  message.clear_ir_version();
  if (!message.producer_name().empty()) {
    model.producer_name = message.producer_name();
    message.clear_producer_name();
  }
  if (!message.producer_version().empty()) {
    model.producer_version = message.producer_version();
    message.clear_producer_version();
  }
  take_opsets(message, model);
  take_functions(message, files, model);
  for (const schema::KeyValue& entry : message.metadata_props())
    model.metadata.emplace_back(entry.key(), entry.value());
  message.clear_metadata_props();
  const std::unique_ptr<schema::Graph> graph(message.release_graph());
  GraphReader(files).read(*graph, *model.graph);
  model.extra = remainder_of(message);
  return model;
}

}  // namespace

ir::Model parse(std::string_view bytes, std::string_view name,
                const std::filesystem::path& folder) {
  try {
    schema::Model message = parse_message(bytes);
    return take_model(message, folder);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("cannot use the model '{}': {}", name, one_line(error.what())));
  }
}

ir::Model load(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return parse(file->text(), path.string(), path.parent_path());
}

std::vector<AtomicFile> stage(const ir::Model& model, const std::filesystem::path& path,
                              const SaveOptions& options) {
  ExternalPlan plan;
  ModelPieces pieces(model, plan);
  std::vector<AtomicFile> files;
  if (pieces.size() > options.external_data_threshold) {
    plan.above_bytes = kMinExternalBytes;
    plan.location = options.external_data_name.empty() ? path.filename().string() + ".data"
                                                       : options.external_data_name;
    plan.lift_constant_nodes = true;
    plan.in_subgraphs = true;
    pieces = ModelPieces(model, plan);
  }
  pieces.check_size();
  if (!plan.blobs.empty()) {
    AtomicFile& data = files.emplace_back(path.parent_path() / plan.location);
    for (const ExternalPlan::Blob& blob : plan.blobs) {
      data.write(std::string(static_cast<std::size_t>(blob.offset - data.size()), '\0'));
      data.write(as_text(blob.tensor->bytes()));
    }
  }
  AtomicFile& file = files.emplace_back(path);
  pieces.write([&file](std::string_view bytes) { file.write(bytes); });
  return files;
}

void save(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options) {
  for (AtomicFile& file : stage(model, path, options)) file.commit();
}

Serialized serialize(const ir::Model& model, std::uint64_t external_above_bytes,
                     std::string_view external_location) {
  ExternalPlan plan;
  plan.above_bytes = external_above_bytes;
  plan.location = external_location;
  const ModelPieces pieces(model, plan);
  pieces.check_size();
  Serialized result;
  result.bytes.reserve(static_cast<std::size_t>(pieces.size()));
  pieces.write([&result](std::string_view bytes) { result.bytes += bytes; });
  result.external = std::move(plan.values);
  return result;
}

}  // namespace amct::onnx
