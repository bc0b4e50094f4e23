#include <algorithm>
#include <iterator>

#include "amct/base/assert.h"
#include "amct/base/error.h"
#include "amct/ir/graph.h"

namespace amct::ir {

bool Value::is_graph_input() const {
  return graph_ != nullptr && std::ranges::find(graph_->inputs(), this) != graph_->inputs().end();
}

bool Value::is_graph_output() const {
  return graph_ != nullptr && std::ranges::find(graph_->outputs(), this) != graph_->outputs().end();
}

void Node::set_input(std::size_t index, Value* value) {
  if (index >= inputs_.size()) inputs_.resize(index + 1, nullptr);
  if (Value* old = inputs_[index]) {
    // From the back: graphs are taken down last node first, and a value may have very many uses.
    auto& uses = old->uses_;
    const auto found = std::find(uses.rbegin(), uses.rend(), Use{this, index});
    AMCT_ASSERT(found != uses.rend());
    uses.erase(std::next(found).base());
  }
  inputs_[index] = value;
  if (value != nullptr) value->uses_.push_back({this, index});
}

void Node::resize_inputs(std::size_t count) {
  for (std::size_t i = count; i < inputs_.size(); ++i) set_input(i, nullptr);
  inputs_.resize(count, nullptr);
}

const Attribute* Node::find_attribute(std::string_view attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

namespace {

template <typename T>
T typed_attribute(const Node& node, std::string_view attribute, T fallback, const char* expected) {
  const Attribute* found = node.find_attribute(attribute);
  if (found == nullptr) return fallback;
  if (const T* data = std::get_if<T>(&found->data)) return *data;
  raise(ErrorCode::kInvalidModel, "node '{}': attribute '{}' has the wrong type, expected {}",
        node.label(), attribute, expected);
}

}  // namespace

std::int64_t Node::attribute_int(std::string_view attribute, std::int64_t fallback) const {
  return typed_attribute(*this, attribute, fallback, "an integer");
}

float Node::attribute_float(std::string_view attribute, float fallback) const {
  return typed_attribute(*this, attribute, fallback, "a number");
}

std::string Node::attribute_string(std::string_view attribute, std::string fallback) const {
  return typed_attribute(*this, attribute, std::move(fallback), "a string");
}

std::vector<std::int64_t> Node::attribute_ints(std::string_view attribute,
                                               std::vector<std::int64_t> fallback) const {
  return typed_attribute(*this, attribute, std::move(fallback), "a list of integers");
}

void Node::set_attribute(std::string_view attribute, Attribute::Data data) {
  for (Attribute& candidate : attributes) {
    if (candidate.name != attribute) continue;
    candidate.data = std::move(data);
    return;
  }
  attributes.push_back({std::string(attribute), std::move(data), {}});
}

void Node::remove_attribute(std::string_view attribute) {
  std::erase_if(attributes, [&](const Attribute& a) { return a.name == attribute; });
}

std::vector<Graph*> Node::subgraphs() const {
  std::vector<Graph*> result;
  for (const Attribute& attribute : attributes) {
    if (const auto* one = std::get_if<std::unique_ptr<Graph>>(&attribute.data)) {
      result.push_back(one->get());
    } else if (const auto* many =
                   std::get_if<std::vector<std::unique_ptr<Graph>>>(&attribute.data)) {
      for (const auto& graph : *many) result.push_back(graph.get());
    }
  }
  return result;
}

std::string Node::label() const {
  if (!name.empty()) return name;
  for (const Value* value : outputs_)
    if (value != nullptr && !value->name().empty())
      return fmt::format("{} producing '{}'", op_type, value->name());
  return op_type;
}

}  // namespace amct::ir
