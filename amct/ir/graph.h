#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "amct/ir/tensor.h"

namespace amct::ir {

class Graph;
class Node;

/// One dimension of a shape: a number, a symbol ("batch"), or neither (unknown).
struct Dim {
  std::optional<std::int64_t> value;
  std::string symbol;
  bool operator==(const Dim&) const = default;
};

/// What is known of a value's type. Tensors use data_type and shape; everything else that the file
/// said (sequences, maps, denotations) is kept in `opaque`, bytes of the format's own type message.
struct ValueType {
  DataType data_type = DataType::kUndefined;
  std::optional<std::vector<Dim>> shape;
  std::string opaque;
  bool operator==(const ValueType&) const = default;
};

/// One place where a value is read: input `index` of `node`, which may lie in a subgraph.
struct Use {
  Node* node;
  std::size_t index;
  bool operator==(const Use&) const = default;
};

/// A named edge of the graph: a graph input, a constant (initializer), or a node's output.
class Value {
 public:
  const std::string& name() const { return name_; }
  Graph* graph() const { return graph_; }
  /// The node that computes it; null for graph inputs and constants.
  Node* producer() const { return producer_; }
  std::size_t producer_index() const { return producer_index_; }
  const std::vector<Use>& uses() const { return uses_; }
  bool is_graph_input() const;
  bool is_graph_output() const;

  /// The initializer, or null. A constant may be a graph input too (ONNX IR version 3).
  const Tensor* constant() const { return constant_ ? &*constant_ : nullptr; }
  void set_constant(Tensor tensor) { constant_ = std::move(tensor); }
  void clear_constant() { constant_.reset(); }

  ValueType type;
  /// Set for constants that the IR keeps as bytes in Graph::extra (sparse initializers).
  bool opaque_constant = false;
  /// Format-owned bytes of the value's declaration and initializer that the IR does not model.
  std::string extra;
  std::string constant_extra;

 private:
  friend class Graph;
  friend class Node;
  std::string name_;
  Graph* graph_ = nullptr;
  Node* producer_ = nullptr;
  std::size_t producer_index_ = 0;
  std::vector<Use> uses_;
  std::optional<Tensor> constant_;
};

/// Bytes of an attribute kind that the IR keeps as it is (sparse tensors, type protos, references).
struct OpaqueAttribute {
  std::string bytes;
  bool operator==(const OpaqueAttribute&) const = default;
};

struct Attribute {
  using Data =
      std::variant<float, std::int64_t, std::string, std::vector<float>, std::vector<std::int64_t>,
                   std::vector<std::string>, Tensor, std::vector<Tensor>, std::unique_ptr<Graph>,
                   std::vector<std::unique_ptr<Graph>>, OpaqueAttribute>;
  std::string name;
  Data data;
  std::string extra;
};

/// One operation. Inputs may be null (absent optional inputs); outputs never are: an absent
/// optional output is a value with an empty name.
class Node {
 public:
  std::string op_type;
  std::string domain;
  std::string name;
  std::vector<Attribute> attributes;
  /// Format-owned bytes of fields that the IR does not model.
  std::string extra;

  Graph* graph() const { return graph_; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  /// The value, or null when there is no such input or it is absent.
  Value* input(std::size_t index) const {
    return index < inputs_.size() ? inputs_[index] : nullptr;
  }
  Value* output(std::size_t index = 0) const {
    return index < outputs_.size() ? outputs_[index] : nullptr;
  }
  /// Replaces (or appends, with absent inputs in between) one input; keeps uses() right.
  void set_input(std::size_t index, Value* value);
  void resize_inputs(std::size_t count);

  const Attribute* find_attribute(std::string_view attribute) const;
  /// Typed look-ups; the default when the attribute is missing. Throw Error(kInvalidModel), naming
  /// the node, when it has another type.
  std::int64_t attribute_int(std::string_view attribute, std::int64_t fallback) const;
  float attribute_float(std::string_view attribute, float fallback) const;
  std::string attribute_string(std::string_view attribute, std::string fallback) const;
  std::vector<std::int64_t> attribute_ints(std::string_view attribute,
                                           std::vector<std::int64_t> fallback) const;
  void set_attribute(std::string_view attribute, Attribute::Data data);
  void remove_attribute(std::string_view attribute);
  /// Graph attributes, in order.
  std::vector<Graph*> subgraphs() const;
  /// Its name, or "<op_type> producing '<output>'" when it has none; for messages.
  std::string label() const;

 private:
  friend class Graph;
  Graph* graph_ = nullptr;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>>::iterator position_;
};

/// A graph owns its values and nodes. Names of values are unique in a graph and in the graphs that
/// enclose it; nodes stand in an order in which every value is computed before it is used.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::string name;
  /// Format-owned bytes of fields that the IR does not model.
  std::string extra;

  /// The node that holds this graph as an attribute; null for a model's main graph.
  Node* parent_node() const { return parent_; }
  void set_parent_node(Node* parent) { parent_ = parent; }

  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  /// The nodes as they stand now, so that a caller may add and remove while it walks.
  std::vector<Node*> node_list() const;
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  /// All values of this graph that hold a constant or an opaque constant, by name.
  std::vector<Value*> constants() const;
  std::vector<Value*> values() const;

  /// Value of this graph with that name, or null. find_visible also looks in enclosing graphs.
  Value* find(std::string_view value) const;
  Value* find_visible(std::string_view value) const;
  Node* find_node(std::string_view node) const;

  /// New value with exactly this name; throws Error(kInvalidModel) when it exists in this graph.
  Value* add_value(std::string value_name);
  /// New constant whose name is `hint` made unique.
  Value* add_constant(std::string_view hint, Tensor tensor);
  void add_input(Value* value);
  void add_output(Value* value);
  void set_inputs(std::vector<Value*> values) { inputs_ = std::move(values); }
  void set_outputs(std::vector<Value*> values) { outputs_ = std::move(values); }
  /// `hint`, or `hint_1`, `hint_2`...: not used by a value here, in enclosing graphs or subgraphs.
  std::string unique_name(std::string_view hint) const;
  std::string unique_node_name(std::string_view hint) const;
  /// Throws Error(kInternal) when the new name is taken.
  void rename(Value* value, std::string new_name);

  /// Inserts a node before `before` (null: at the end). `outputs` must have no producer yet.
  Node* add_node(std::string op_type, const std::vector<Value*>& inputs,
                 const std::vector<Value*>& outputs, Node* before = nullptr);
  /// The same with fresh outputs named after `hint` (made unique).
  Node* insert_node(std::string op_type, const std::vector<Value*>& inputs, std::string_view hint,
                    Node* before = nullptr, std::size_t output_count = 1);
  /// Removes a node; its outputs lose their producer and must have no uses (asserted) unless a new
  /// producer is given to them afterwards through give_producer.
  void remove_node(Node* node);
  /// Makes `value` output `index` of `node` instead of the value that stood there, which is removed
  /// when nothing uses it.
  void give_producer(Value* value, Node* node, std::size_t index = 0);
  /// Removes a value that has no producer, no uses and is no input or output (asserted).
  void remove_value(Value* value);
  /// Every use of `from`, subgraphs included, reads `to`. Graph outputs are not touched.
  static void replace_uses(Value* from, Value* to);
  void move_before(Node* node, Node* before);
  /// The node that stands after `node`, or null for the last one.
  Node* next_node(const Node* node) const;
  /// Lets a new value, named after `hint`, stand at output `index` of `node`. The value that stood
  /// there keeps its name and uses and has no producer until the caller adds a node for it.
  Value* detach_output(Node* node, std::size_t index, std::string_view hint);

  /// Removes nodes none of whose outputs is used, and constants that are not used. Returns how
  /// many.
  std::size_t remove_unused();
  /// Stable topological sort; throws Error(kInvalidModel) naming nodes on a cycle.
  void sort();

  /// Calls visit for this graph and every nested subgraph, outer first.
  void for_each_graph(const std::function<void(Graph&)>& visit);

  /// Deep copy; constants share their buffers. References to values of enclosing graphs stay.
  std::unique_ptr<Graph> clone() const;

 private:
  std::unique_ptr<Graph> clone_into(std::map<const Value*, Value*>& mapped) const;
  static void copy_declaration(const Value& from, Value& to);

  Node* parent_ = nullptr;
  std::map<std::string, std::unique_ptr<Value>, std::less<>> values_;
  std::vector<std::unique_ptr<Value>> unnamed_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  std::list<std::unique_ptr<Node>> nodes_;
};

/// A model file: one main graph and what surrounds it.
struct Model {
  std::int64_t ir_version = 0;
  /// Operator set versions by domain ("" is ai.onnx).
  std::map<std::string, std::int64_t> opset_imports;
  std::string producer_name;
  std::string producer_version;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  /// Names "domain::name" of local functions, whose bodies are kept in `extra`.
  std::vector<std::string> functions;
  std::string extra;

  /// Version of the default operator set, which files call "" or "ai.onnx"; 0 when there is none.
  std::int64_t opset() const;
  const std::string* find_metadata(std::string_view key) const;
  void set_metadata(std::string_view key, std::string value);
  void remove_metadata(std::string_view key);
  Model clone() const;
};

/// Checks what the classes promise (uses, producers, order, unique names, null outputs); throws
/// Error(kInvalidModel) that names the first offender. Used after every pass.
void verify(const Graph& graph);

}  // namespace amct::ir
