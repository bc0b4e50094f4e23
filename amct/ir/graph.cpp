#include "amct/ir/graph.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "amct/base/assert.h"
#include "amct/base/error.h"

namespace amct::ir {

Graph::~Graph() {
  // Subgraphs hold uses of our values: drop the nodes, innermost uses first, before the values.
  while (!nodes_.empty()) {
    Node* node = nodes_.back().get();
    node->attributes.clear();
    node->resize_inputs(0);
    nodes_.pop_back();
  }
}

std::vector<Node*> Graph::node_list() const {
  std::vector<Node*> result;
  result.reserve(nodes_.size());
  for (const auto& node : nodes_) result.push_back(node.get());
  return result;
}

std::vector<Value*> Graph::constants() const {
  std::vector<Value*> result;
  for (const auto& [key, value] : values_)
    if (value->constant() != nullptr || value->opaque_constant) result.push_back(value.get());
  return result;
}

std::vector<Value*> Graph::values() const {
  std::vector<Value*> result;
  for (const auto& [key, value] : values_) result.push_back(value.get());
  return result;
}

Value* Graph::find(std::string_view value) const {
  const auto found = values_.find(value);
  return found == values_.end() ? nullptr : found->second.get();
}

Value* Graph::find_visible(std::string_view value) const {
  for (const Graph* graph = this; graph != nullptr;) {
    if (Value* found = graph->find(value)) return found;
    graph = graph->parent_ != nullptr ? graph->parent_->graph() : nullptr;
  }
  return nullptr;
}

Node* Graph::find_node(std::string_view node) const {
  for (const auto& candidate : nodes_)
    if (candidate->name == node) return candidate.get();
  return nullptr;
}

Value* Graph::add_value(std::string value_name) {
  auto value = std::make_unique<Value>();
  value->graph_ = this;
  value->name_ = std::move(value_name);
  Value* result = value.get();
  if (result->name_.empty()) {
    unnamed_.push_back(std::move(value));
    return result;
  }
  const auto [place, inserted] = values_.try_emplace(result->name_, std::move(value));
  if (!inserted)
    raise(ErrorCode::kInvalidModel, "two values of graph '{}' have the name '{}'", name,
          place->first);
  return result;
}

Value* Graph::add_constant(std::string_view hint, Tensor tensor) {
  Value* value = add_value(unique_name(hint));
  value->type.data_type = tensor.type();
  value->type.shape.emplace();
  for (const std::int64_t dim : tensor.dims()) value->type.shape->push_back({dim, {}});
  value->set_constant(std::move(tensor));
  return value;
}

void Graph::add_input(Value* value) { inputs_.push_back(value); }
void Graph::add_output(Value* value) { outputs_.push_back(value); }

namespace {

bool used_inside(const Graph& graph, std::string_view name) {
  for (const auto& node : graph.nodes())
    for (const Graph* inner : node->subgraphs())
      if (inner->find(name) != nullptr || used_inside(*inner, name)) return true;
  return false;
}

template <typename Taken>
std::string first_free(std::string_view hint, const Taken& taken) {
  std::string base(hint.empty() ? "value" : hint);
  if (!taken(base)) return base;
  for (std::size_t i = 1;; ++i) {
    std::string candidate = fmt::format("{}_{}", base, i);
    if (!taken(candidate)) return candidate;
  }
}

}  // namespace

std::string Graph::unique_name(std::string_view hint) const {
  return first_free(hint, [this](const std::string& candidate) {
    return find_visible(candidate) != nullptr || used_inside(*this, candidate);
  });
}

std::string Graph::unique_node_name(std::string_view hint) const {
  return first_free(
      hint, [this](const std::string& candidate) { return find_node(candidate) != nullptr; });
}

void Graph::rename(Value* value, std::string new_name) {
  if (value->name_ == new_name) return;
  if (find(new_name) != nullptr)
    raise(ErrorCode::kInternal, "cannot rename '{}': the name '{}' is taken", value->name_,
          new_name);
  auto entry = values_.extract(value->name_);
  AMCT_ASSERT(!entry.empty());
  entry.key() = new_name;
  value->name_ = std::move(new_name);
  values_.insert(std::move(entry));
}

Node* Graph::add_node(std::string op_type, const std::vector<Value*>& inputs,
                      const std::vector<Value*>& outputs, Node* before) {
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->op_type = std::move(op_type);
  node->graph_ = this;
  const auto place = before != nullptr ? before->position_ : nodes_.end();
  node->position_ = nodes_.insert(place, std::move(owned));
  for (std::size_t i = 0; i < inputs.size(); ++i) node->set_input(i, inputs[i]);
  for (Value* output : outputs) {
    AMCT_ASSERT(output != nullptr && output->producer_ == nullptr);
    output->producer_ = node;
    output->producer_index_ = node->outputs_.size();
    node->outputs_.push_back(output);
  }
  return node;
}

Node* Graph::insert_node(std::string op_type, const std::vector<Value*>& inputs,
                         std::string_view hint, Node* before, std::size_t output_count) {
  std::vector<Value*> outputs;
  for (std::size_t i = 0; i < output_count; ++i) outputs.push_back(add_value(unique_name(hint)));
  return add_node(std::move(op_type), inputs, outputs, before);
}

void Graph::remove_node(Node* node) {
  node->attributes.clear();
  node->resize_inputs(0);
  for (Value* output : node->outputs_) {
    output->producer_ = nullptr;
    if (output->uses_.empty() && !output->is_graph_output()) remove_value(output);
  }
  nodes_.erase(node->position_);
}

void Graph::give_producer(Value* value, Node* node, std::size_t index) {
  AMCT_ASSERT(value->producer_ == nullptr && index < node->outputs_.size());
  Value* old = node->outputs_[index];
  node->outputs_[index] = value;
  value->producer_ = node;
  value->producer_index_ = index;
  old->producer_ = nullptr;
  if (old->uses_.empty() && !old->is_graph_output()) remove_value(old);
}

void Graph::remove_value(Value* value) {
  AMCT_ASSERT(value->producer_ == nullptr && value->uses_.empty() && !value->is_graph_output());
  std::erase(inputs_, value);
  if (value->name_.empty())
    std::erase_if(unnamed_, [value](const auto& owned) { return owned.get() == value; });
  else
    values_.erase(value->name_);
}

void Graph::replace_uses(Value* from, Value* to) {
  for (const Use use : std::vector<Use>(from->uses_)) use.node->set_input(use.index, to);
}

void Graph::move_before(Node* node, Node* before) {
  nodes_.splice(before->position_, nodes_, node->position_);
}

namespace {

/// Values that subgraphs return although they belong to an enclosing graph: a use without a node.
void collect_returned(const Graph& graph, std::unordered_set<const Value*>& returned) {
  for (const auto& node : graph.nodes()) {
    for (const Graph* inner : node->subgraphs()) {
      for (const Value* output : inner->outputs())
        if (output->graph() != inner) returned.insert(output);
      collect_returned(*inner, returned);
    }
  }
}

}  // namespace
Node* Graph::next_node(const Node* node) const {
  const auto next = std::next(node->position_);
  return next == nodes_.end() ? nullptr : next->get();
}

Value* Graph::detach_output(Node* node, std::size_t index, std::string_view hint) {
  AMCT_ASSERT(index < node->outputs_.size());
  Value* fresh = add_value(unique_name(hint));
  Value* old = node->outputs_[index];
  node->outputs_[index] = fresh;
  fresh->producer_ = node;
  fresh->producer_index_ = index;
  old->producer_ = nullptr;
  return fresh;
}

std::size_t Graph::remove_unused() {
  std::size_t removed = 0;
  std::unordered_set<const Value*> kept(outputs_.begin(), outputs_.end());
  kept.insert(inputs_.begin(), inputs_.end());
  collect_returned(*this, kept);
  for (auto place = nodes_.end(); place != nodes_.begin();) {
    --place;
    Node* node = place->get();
    for (Graph* inner : node->subgraphs()) removed += inner->remove_unused();
    const bool used = std::ranges::any_of(node->outputs_, [&kept](const Value* output) {
      return !output->uses_.empty() || kept.contains(output);
    });
    if (used) continue;
    const auto next = std::next(place);
    remove_node(node);
    place = next;
    ++removed;
  }
  for (Value* value : constants()) {
    if (!value->uses_.empty() || kept.contains(value) || value->opaque_constant) continue;
    remove_value(value);
    ++removed;
  }
  return removed;
}

namespace {

/// Values of `graph` that a node reads, also from inside its subgraphs.
void collect_reads(const Node& node, const Graph* graph, std::vector<Value*>& reads) {
  for (Value* input : node.inputs())
    if (input != nullptr && input->graph() == graph) reads.push_back(input);
  for (const Graph* inner : node.subgraphs()) {
    for (Value* output : inner->outputs())
      if (output->graph() == graph) reads.push_back(output);
    for (const auto& child : inner->nodes()) collect_reads(*child, graph, reads);
  }
}

}  // namespace

void Graph::sort() {
  std::unordered_map<const Node*, std::size_t> missing;
  std::unordered_map<const Node*, std::vector<Node*>> readers;
  std::map<std::size_t, Node*> ready;
  std::unordered_map<const Node*, std::size_t> order;
  std::size_t index = 0;
  for (const auto& node : nodes_) order[node.get()] = index++;
  for (const auto& node : nodes_) {
    std::vector<Value*> reads;
    collect_reads(*node, this, reads);
    std::set<const Node*> producers;
    for (const Value* value : reads)
      if (value->producer_ != nullptr) producers.insert(value->producer_);
    missing[node.get()] = producers.size();
    for (const Node* producer : producers) readers[producer].push_back(node.get());
    if (producers.empty()) ready[order[node.get()]] = node.get();
  }
  std::size_t sorted = 0;
  while (!ready.empty()) {
    Node* node = ready.begin()->second;
    ready.erase(ready.begin());
    nodes_.splice(nodes_.end(), nodes_, node->position_);
    ++sorted;
    for (Node* reader : readers[node])
      if (--missing[reader] == 0) ready[order[reader]] = reader;
  }
  if (sorted == nodes_.size()) return;
  std::string names;
  for (const auto& node : nodes_) {
    if (missing[node.get()] == 0) continue;
    if (names.size() > 200) {
      names += ", ...";
      break;
    }
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", node->label());
  }
  raise(ErrorCode::kInvalidModel, "the graph has a cycle through the nodes {}", names);
}

void Graph::for_each_graph(const std::function<void(Graph&)>& visit) {
  visit(*this);
  for (Node* node : node_list())
    for (Graph* inner : node->subgraphs()) inner->for_each_graph(visit);
}

void Graph::copy_declaration(const Value& from, Value& to) {
  to.type = from.type;
  to.opaque_constant = from.opaque_constant;
  to.extra = from.extra;
  to.constant_ = from.constant_;
  to.constant_extra = from.constant_extra;
}

std::unique_ptr<Graph> Graph::clone() const {
  std::map<const Value*, Value*> mapped;
  return clone_into(mapped);
}

namespace {

using GraphCloner = std::function<std::unique_ptr<Graph>(const Graph&)>;

Attribute::Data clone_data(const Attribute::Data& data, const GraphCloner& clone_graph) {
  return std::visit(
      [&](const auto& item) -> Attribute::Data {
        using T = std::decay_t<decltype(item)>;
        if constexpr (std::is_same_v<T, std::unique_ptr<Graph>>) {
          return clone_graph(*item);
        } else if constexpr (std::is_same_v<T, std::vector<std::unique_ptr<Graph>>>) {
          std::vector<std::unique_ptr<Graph>> copies;
          for (const auto& graph : item) copies.push_back(clone_graph(*graph));
          return copies;
        } else {
          return item;
        }
      },
      data);
}

}  // namespace

std::unique_ptr<Graph> Graph::clone_into(std::map<const Value*, Value*>& mapped) const {
  auto copy = std::make_unique<Graph>();
  copy->name = name;
  copy->extra = extra;
  for (const auto& [key, value] : values_) {
    Value* twin = copy->add_value(key);
    copy_declaration(*value, *twin);
    mapped[value.get()] = twin;
  }
  for (const auto& value : unnamed_) mapped[value.get()] = copy->add_value("");
  const auto twin_of = [&mapped](Value* value) -> Value* {
    const auto found = mapped.find(value);
    return found == mapped.end() ? value : found->second;
  };
  for (Value* value : inputs_) copy->inputs_.push_back(twin_of(value));
  for (Value* value : outputs_) copy->outputs_.push_back(twin_of(value));
  for (const auto& node : nodes_) {
    std::vector<Value*> inputs;
    std::vector<Value*> outputs;
    for (Value* value : node->inputs_) inputs.push_back(value ? twin_of(value) : nullptr);
    for (Value* value : node->outputs_) outputs.push_back(twin_of(value));
    Node* twin = copy->add_node(node->op_type, inputs, outputs);
    twin->domain = node->domain;
    twin->name = node->name;
    twin->extra = node->extra;
    const auto clone_graph = [&](const Graph& inner) {
      auto inner_copy = inner.clone_into(mapped);
      inner_copy->parent_ = twin;
      return inner_copy;
    };
    for (const Attribute& attribute : node->attributes)
      twin->attributes.push_back(
          {attribute.name, clone_data(attribute.data, clone_graph), attribute.extra});
  }
  return copy;
}

std::int64_t Model::opset() const {
  for (const char* spelling : {"", "ai.onnx"})
    if (const auto found = opset_imports.find(spelling); found != opset_imports.end())
      return found->second;
  return 0;
}

const std::string* Model::find_metadata(std::string_view key) const {
  for (const auto& [candidate, value] : metadata)
    if (candidate == key) return &value;
  return nullptr;
}

void Model::set_metadata(std::string_view key, std::string value) {
  for (auto& [candidate, old] : metadata) {
    if (candidate != key) continue;
    old = std::move(value);
    return;
  }
  metadata.emplace_back(key, std::move(value));
}

void Model::remove_metadata(std::string_view key) {
  std::erase_if(metadata, [key](const auto& entry) { return entry.first == key; });
}

Model Model::clone() const {
  Model copy;
  copy.ir_version = ir_version;
  copy.opset_imports = opset_imports;
  copy.producer_name = producer_name;
  copy.producer_version = producer_version;
  copy.metadata = metadata;
  copy.graph = graph->clone();
  copy.functions = functions;
  copy.extra = extra;
  return copy;
}

}  // namespace amct::ir
