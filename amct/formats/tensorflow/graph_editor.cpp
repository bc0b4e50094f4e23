#include "amct/formats/tensorflow/graph_editor.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/printable.h"

namespace amct::tensorflow {
namespace {

constexpr std::string_view kColocation = "loc:@";

}  // namespace

GraphEditor::GraphEditor(schema::Graph& graph) : graph_(graph) {
  for (schema::Node& node : *graph_.mutable_node()) {
    if (node.name().empty())
      raise(ErrorCode::kInvalidModel, "a node ({}) has no name", printable(node.op()));
    if (!by_name_.emplace(node.name(), &node).second)
      raise(ErrorCode::kInvalidModel, "two nodes have the name '{}'", printable(node.name()));
    note_inputs(node);
  }
}

void GraphEditor::note_inputs(schema::Node& node) {
  for (const std::string& input : node.input()) {
    std::vector<schema::Node*>& readers = readers_[parse_input(input).node];
    if (readers.empty() || readers.back() != &node) readers.push_back(&node);
  }
}

std::vector<schema::Node*> GraphEditor::nodes() const {
  std::vector<schema::Node*> nodes;
  for (schema::Node& node : *graph_.mutable_node())
    if (!removed(node)) nodes.push_back(&node);
  return nodes;
}

schema::Node* GraphEditor::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found != by_name_.end() ? found->second : nullptr;
}

schema::Node* GraphEditor::producer(const schema::Node& node, int input) const {
  if (input >= node.input_size() || node.input(input).starts_with('^')) return nullptr;
  return find(parse_input(node.input(input)).node);
}

std::vector<NodeUse> GraphEditor::uses(const schema::Node& node) const {
  std::vector<NodeUse> uses;
  const auto readers = readers_.find(node.name());
  if (readers == readers_.end()) return uses;
  std::unordered_set<const schema::Node*> seen;
  for (schema::Node* reader : readers->second) {
    if (removed(*reader) || !seen.insert(reader).second) continue;
    for (int i = 0; i < reader->input_size(); ++i) {
      const InputRef ref = parse_input(reader->input(i));
      if (ref.node == node.name()) uses.push_back({reader, i, ref.control ? -1 : ref.port});
    }
  }
  return uses;
}

std::string GraphEditor::unique_name(const std::string& name) const {
  std::string unique = name;
  for (int i = 1; by_name_.contains(unique); ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

schema::Node& GraphEditor::add(schema::Node node) {
  schema::Node& added = *graph_.add_node();
  added = std::move(node);
  by_name_[added.name()] = &added;
  note_inputs(added);
  return added;
}

schema::Node& GraphEditor::add(const std::string& name, std::string_view op,
                               const std::vector<std::string>& inputs, const std::string& device) {
  schema::Node node;
  node.set_name(name);
  node.set_op(std::string(op));
  for (const std::string& input : inputs) node.add_input(input);
  if (!device.empty()) node.set_device(device);
  return add(std::move(node));
}

void GraphEditor::set_input(schema::Node& node, int index, const std::string& input) {
  node.set_input(index, input);
  readers_[parse_input(input).node].push_back(&node);
}

void GraphEditor::set_inputs(schema::Node& node, const std::vector<std::string>& inputs) {
  node.clear_input();
  for (const std::string& input : inputs) node.add_input(input);
  note_inputs(node);
}

void GraphEditor::replace_uses(const schema::Node& node, int port, const std::string& input,
                               const schema::Node* except) {
  for (const NodeUse& use : uses(node))
    if (use.port == port && use.node != except) set_input(*use.node, use.index, input);
}

void GraphEditor::replace_control(const schema::Node& node,
                                  const std::vector<std::string>& instead) {
  for (const NodeUse& use : uses(node)) {
    if (use.port != -1) continue;
    std::vector<std::string> inputs;
    for (const std::string& input : use.node->input())
      if (input != '^' + node.name()) inputs.push_back(input);
    for (const std::string& name : instead)
      if (std::ranges::find(inputs, '^' + name) == inputs.end()) inputs.push_back('^' + name);
    set_inputs(*use.node, inputs);
  }
}

void GraphEditor::remove(schema::Node& node) {
  removed_.insert(&node);
  by_name_.erase(node.name());
}

void GraphEditor::finish() {
  const auto gone = [this](const std::string& name) { return !by_name_.contains(name); };
  google::protobuf::RepeatedPtrField<schema::Node> all;
  all.Swap(graph_.mutable_node());
  std::vector<schema::Node*> nodes(static_cast<std::size_t>(all.size()));
  all.ExtractSubrange(0, all.size(), nodes.data());
  for (schema::Node* node : nodes) {
    if (removed(*node)) {
      delete node;
      continue;
    }
    graph_.mutable_node()->AddAllocated(node);
    for (int i = node->input_size(); i-- > 0;)
      if (node->input(i).starts_with('^') && gone(node->input(i).substr(1)))
        node->mutable_input()->DeleteSubrange(i, 1);
    const schema::AttrValue* places = find_attr(*node, "_class");
    if (places == nullptr || places->list().s().empty()) continue;
    std::vector<std::string> kept;
    for (const std::string& place : places->list().s())
      if (!place.starts_with(kColocation) || !gone(place.substr(kColocation.size())))
        kept.push_back(place);
    if (static_cast<int>(kept.size()) == places->list().s_size()) continue;
    remove_attr(*node, "_class");
    if (kept.empty()) continue;
    schema::AttrList& list = *set_attr(*node, "_class").mutable_list();
    for (const std::string& place : kept) list.add_s(place);
  }
  removed_.clear();
}

}  // namespace amct::tensorflow
