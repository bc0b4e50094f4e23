#include "amct/formats/tensorflow/saver_index.h"

#include <charconv>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/printable.h"

namespace amct::tensorflow {
namespace {

constexpr int kFirstSaved = 3;  // inputs of SaveV2 before the tensors: file, names, slices

/// The variable that output `port` of a RestoreV2 node is assigned to.
void follow_restore(const GraphEditor& graph, const schema::Node& restore, int port,
                    SaverEntry& entry) {
  const schema::Node* node = &restore;
  int at = port;
  // As long as there is one reader: Identity, Reshape, then the assignment.
  for (;;) {
    schema::Node* reader = nullptr;
    for (const NodeUse& use : graph.uses(*node)) {
      if (use.port != at) continue;
      if (reader != nullptr) return;
      reader = use.node;
    }
    if (reader == nullptr) return;
    entry.chain.push_back(reader);
    if (is_assignment(reader->op())) {
      schema::Node* variable = graph.producer(*reader, 0);
      if (variable != nullptr && is_variable(variable->op())) entry.variable = variable;
      return;
    }
    if (reader->op() != "Identity" && reader->op() != "Reshape") return;
    node = reader;
    at = 0;
  }
}

std::vector<std::string> texts_at(const GraphEditor& graph, const schema::Node& node, int input) {
  const schema::Node* constant = graph.producer(node, input);
  auto texts = constant != nullptr ? constant_texts(*constant) : std::nullopt;
  if (!texts)
    raise(ErrorCode::kInvalidModel, "input {} of node '{}' ({}) is no constant list of names",
          input, printable(node.name()), node.op());
  return std::move(*texts);
}

SaverNode read_saver(const GraphEditor& graph, schema::Node& node) {
  SaverNode saver;
  saver.node = &node;
  saver.restores = node.op() == "RestoreV2";
  const std::vector<std::string> keys = texts_at(graph, node, 1);
  const std::vector<std::string> slices = texts_at(graph, node, 2);
  const schema::AttrValue* types = find_attr(node, "dtypes");
  if (keys.size() != slices.size() || types == nullptr ||
      types->list().type_size() != static_cast<int>(keys.size()) ||
      (!saver.restores && data_input_count(node) != kFirstSaved + static_cast<int>(keys.size())))
    raise(ErrorCode::kInvalidModel, "node '{}' ({}) names {} tensors, but handles another number",
          printable(node.name()), node.op(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    SaverEntry entry{keys[i], slices[i], nullptr, {}};
    const int index = static_cast<int>(i);
    if (saver.restores)
      follow_restore(graph, node, index, entry);
    else
      entry.variable = read_variable(graph, node.input(kFirstSaved + index), &entry.chain);
    saver.entries.push_back(std::move(entry));
  }
  return saver;
}

/// Everything that running `start` runs.
std::unordered_set<const schema::Node*> ancestors(const GraphEditor& graph,
                                                  std::string_view start) {
  std::unordered_set<const schema::Node*> seen;
  std::vector<const schema::Node*> waiting;
  const auto visit = [&](std::string_view name) {
    const schema::Node* node = graph.find(name);
    if (node != nullptr && seen.insert(node).second) waiting.push_back(node);
  };
  visit(start);
  while (!waiting.empty()) {
    const schema::Node* node = waiting.back();
    waiting.pop_back();
    for (const std::string& input : node->input()) visit(parse_input(input).node);
  }
  return seen;
}

bool take_number(std::string_view& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::vector<SaverNode> find_savers(const GraphEditor& graph, const schema::Saver& saver) {
  const auto run = ancestors(graph, saver.restore_op_name());
  const auto saved = ancestors(graph, parse_input(saver.save_tensor_name()).node);
  std::vector<SaverNode> savers;
  for (schema::Node* node : graph.nodes()) {
    const std::string& op = node->op();
    if (op == "Save" || op == "SaveSlices" || op == "Restore" || op == "RestoreSlice")
      raise(ErrorCode::kUnsupported,
            "node '{}' ({}) is part of a saver of version V1; save the model again with "
            "tf.compat.v1.train.Saver(write_version=tf.compat.v1.train.SaverDef.V2)",
            printable(node->name()), op);
    if (op != "SaveV2" && op != "RestoreV2") continue;
    savers.push_back(read_saver(graph, *node));
    savers.back().main = run.contains(node) || saved.contains(node);
  }
  return savers;
}

VariableKey key_of(const schema::Node& variable, const std::vector<SaverNode>& savers) {
  const SaverEntry* best = nullptr;
  bool main = false;
  for (const SaverNode& saver : savers)
    for (const SaverEntry& entry : saver.entries)
      if (entry.variable == &variable && (best == nullptr || (saver.main && !main))) {
        best = &entry;
        main = saver.main;
      }
  if (best == nullptr) return {variable.name(), {}};
  return {best->key, best->slice};
}

std::optional<SliceSpec> parse_slice(std::string_view text) {
  const auto last = text.rfind(' ');
  if (last == std::string_view::npos) return std::nullopt;
  SliceSpec spec;
  std::string_view dims = text.substr(0, last);
  do {
    std::int64_t dim;
    if (!take_number(dims, dim)) return std::nullopt;
    spec.dims.push_back(dim);
  } while (take(dims, ' '));
  std::string_view ranges = text.substr(last + 1);
  do {
    SliceRange range;
    if (!take(ranges, '-') && !(take_number(ranges, range.start) && take(ranges, ',') &&
                                take_number(ranges, range.length)))
      return std::nullopt;
    spec.ranges.push_back(range);
  } while (take(ranges, ':'));
  if (!dims.empty() || !ranges.empty() || spec.dims.size() != spec.ranges.size())
    return std::nullopt;
  return spec;
}

schema::Node* read_variable(const GraphEditor& graph, const std::string& tensor,
                            std::vector<schema::Node*>* chain) {
  const InputRef ref = parse_input(tensor);
  if (ref.control || ref.port != 0) return nullptr;
  schema::Node* node = graph.find(ref.node);
  // A loop of Identity nodes (in a damaged graph) is not followed for ever.
  for (int steps = 0; node != nullptr && steps < 8; ++steps) {
    if (is_variable(node->op())) return node;
    if ((node->op() != "Identity" && node->op() != "ReadVariableOp") ||
        data_input_count(*node) != 1 || parse_input(node->input(0)).port != 0)
      return nullptr;
    if (chain != nullptr) chain->push_back(node);
    node = graph.producer(*node, 0);
  }
  return nullptr;
}

}  // namespace amct::tensorflow
