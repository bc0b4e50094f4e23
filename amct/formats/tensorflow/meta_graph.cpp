#include "amct/formats/tensorflow/meta_graph.h"

#include <fmt/core.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>

#include "amct/base/error.h"
#include "amct/base/mapped_file.h"
#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/meta_graph_state.h"
#include "amct/formats/tensorflow/printable.h"
#include "amct/formats/tensorflow/slice_copy.h"

namespace amct::tensorflow {
namespace {

bool is_text(std::string_view bytes) {
  return std::ranges::all_of(bytes.substr(0, 512), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
}

[[noreturn]] void raise_foreign(std::string_view bytes) {
  if (bytes.empty()) raise(ErrorCode::kInvalidModel, "the file is empty");
  if (is_text(bytes))
    raise(
        ErrorCode::kInvalidModel,
        "it is a text file; a .meta must be in binary form (export_meta_graph with as_text=False, "
        "which Saver.save does)");
  schema::Graph graph;
  if (graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) && graph.node_size() > 0 &&
      !graph.node(0).op().empty())
    raise(
        ErrorCode::kInvalidModel,
        "it is a bare GraphDef (a frozen .pb); give the .meta that tf.compat.v1.train.Saver wrote "
        "beside the checkpoint");
  raise(ErrorCode::kInvalidModel,
        "it is no MetaGraphDef, or it is damaged; give the .meta that tf.compat.v1.train.Saver "
        "wrote");
}

/// Lists names in a message, the first few of them.
std::string name_list(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", printable(names[i]));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

/// What the .meta knows of a variable's value in the checkpoint.
struct Expected {
  std::string key;
  std::optional<std::vector<std::int64_t>> dims;
  std::int32_t data_type;
};

std::optional<std::vector<std::int64_t>> expected_dims(const schema::Node& variable,
                                                       const std::string& slice) {
  if (slice.empty()) return attr_shape(variable, "shape");
  const auto spec = parse_slice(slice);
  if (!spec) return std::nullopt;
  return spec->dims;
}

std::vector<Expected> expected_tensors(const schema::MetaGraph& meta, const GraphEditor& graph,
                                       const std::vector<SaverNode>& savers) {
  std::vector<Expected> expected;
  for (const SaverNode& saver : savers) {
    if (!saver.main || !saver.restores) continue;
    for (std::size_t i = 0; i < saver.entries.size(); ++i) {
      const SaverEntry& entry = saver.entries[i];
      const std::int32_t type = find_attr(*saver.node, "dtypes")->list().type(static_cast<int>(i));
      expected.push_back(
          {entry.key,
           entry.variable != nullptr ? expected_dims(*entry.variable, entry.slice) : std::nullopt,
           type});
    }
  }
  if (!expected.empty()) return expected;
  // A .meta without a saver: its variables, which tf.compat.v1.train.Saver() would restore.
  for (const schema::CollectionEntry& collection : meta.collection_def()) {
    if (collection.key() != "variables") continue;
    for (const std::string& bytes : collection.value().bytes_list().value()) {
      schema::Variable variable;
      if (!variable.ParseFromString(bytes) || variable.has_save_slice_info_def()) continue;
      const schema::Node* node = graph.find(parse_input(variable.variable_name()).node);
      if (node != nullptr && is_variable(node->op()))
        expected.push_back({node->name(), attr_shape(*node, "shape"), attr_type(*node, "dtype")});
    }
  }
  return expected;
}

std::string dims_text(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += fmt::format("{}{}", i > 0 ? ", " : "", dims[i]);
  return text + "]";
}

}  // namespace

MetaGraph::MetaGraph(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetaGraph::MetaGraph(MetaGraph&&) noexcept = default;
MetaGraph::~MetaGraph() = default;

MetaGraph MetaGraph::parse(std::string_view bytes, std::string_view name) {
  auto state = std::make_unique<State>();
  state->name = name;
  try {
    if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      raise(ErrorCode::kInvalidModel, "it has {} bytes; a .meta has at most 2 GB", bytes.size());
    if (!state->message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
        state->message.graph_def().node().empty() ||
        state->message.graph_def().node(0).op().empty())
      raise_foreign(bytes);
    GraphEditor check(*state->message.mutable_graph_def());
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("cannot use '{}' as a .meta: {}", name, error.what()));
  }
  return MetaGraph(std::move(state));
}

MetaGraph MetaGraph::load(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return parse(file->text(), path.string());
}

std::string MetaGraph::serialize() const {
  const std::size_t size = state_->message.ByteSizeLong();
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    raise(ErrorCode::kUnsupported, "the .meta would have {} bytes; protobuf writes at most 2 GB",
          size);
  return state_->message.SerializeAsString();
}

void MetaGraph::check_belongs_to(const CheckpointReader& checkpoint) const {
  const GraphEditor graph(*state_->message.mutable_graph_def());
  const auto savers = find_savers(graph, state_->message.saver_def());
  std::vector<std::string> missing;
  std::vector<std::string> different;
  for (const Expected& expected : expected_tensors(state_->message, graph, savers)) {
    const CheckpointEntry* entry = checkpoint.find(expected.key);
    if (entry == nullptr) {  // parts of one tensor share its key
      if (missing.empty() || missing.back() != expected.key) missing.push_back(expected.key);
    } else if ((expected.dims && *expected.dims != entry->dims) ||
               expected.data_type != entry->data_type) {
      different.push_back(fmt::format("'{}' is {} {} in the checkpoint, {} {} in the .meta",
                                      printable(expected.key), data_type_name(entry->data_type),
                                      dims_text(entry->dims), data_type_name(expected.data_type),
                                      dims_text(expected.dims.value_or(entry->dims))));
    }
  }
  if (missing.empty() && different.empty()) return;
  std::string text =
      fmt::format("'{}' and the checkpoint '{}' do not belong together: ", state_->name,
                  checkpoint.prefix().string());
  if (!missing.empty())
    text += fmt::format("the checkpoint has no {}{}", name_list(missing),
                        different.empty() ? "" : "; ");
  for (std::size_t i = 0; i < std::min<std::size_t>(different.size(), 3); ++i)
    text += (i > 0 ? "; " : "") + different[i];
  raise(ErrorCode::kInvalidModel, "{}; give files that one Saver.save wrote", text);
}

std::vector<Convolution> MetaGraph::convolutions(const CheckpointReader& checkpoint) const {
  const GraphEditor graph(*state_->message.mutable_graph_def());
  const auto savers = find_savers(graph, state_->message.saver_def());
  ConvSites found =
      find_convolutions(graph, savers, nodes_in_contexts(state_->message), checkpoint);
  std::vector<Convolution> result;
  for (const ConvSite& site : found.sites) result.push_back(site.info);
  state_->kernels = std::move(found.kernels);
  return result;
}

std::string MetaGraph::read_kernel(const CheckpointReader& checkpoint,
                                   const std::string& name) const {
  const Kernel& kernel = state_->kernels.at(name);
  const auto read = [&](const std::string& key, const std::vector<std::int64_t>& dims) {
    const CheckpointEntry* entry = checkpoint.find(key);
    if (entry == nullptr || entry->dims != dims || entry->data_type != kernel.data_type)
      raise(ErrorCode::kInvalidModel,
            "'{}' is {} {} in the .meta, but the checkpoint '{}' holds {}; give files that one "
            "Saver.save wrote",
            printable(key), data_type_name(kernel.data_type), dims_text(dims),
            checkpoint.prefix().string(),
            entry == nullptr
                ? "no such tensor"
                : fmt::format("{} {}", data_type_name(entry->data_type), dims_text(entry->dims)));
    return checkpoint.read(key);
  };
  if (kernel.parts.size() == 1 || !kernel.parts.front().key.slice.empty())
    return read(kernel.parts.front().key.key, kernel.dims);
  const std::uint64_t element = *element_bytes(kernel.data_type);
  std::uint64_t bytes = element;
  for (const std::int64_t dim : kernel.dims) bytes *= static_cast<std::uint64_t>(dim);
  std::string whole;
  std::vector<SliceRange> place(kernel.dims.size());
  SliceRange& along = place[static_cast<std::size_t>(kernel.axis)];
  for (const KernelPart& part : kernel.parts) {
    const std::string data = read(part.key.key, part.dims);
    // Not before the checkpoint has shown that it holds as much.
    if (whole.empty()) whole.assign(static_cast<std::size_t>(bytes), '\0');
    along.length = part.dims[static_cast<std::size_t>(kernel.axis)];
    copy_slice(kernel.dims, place, static_cast<std::size_t>(element), data, whole);
    along.start += along.length;
  }
  return whole;
}

}  // namespace amct::tensorflow
