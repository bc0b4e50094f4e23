#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "amct/formats/tensorflow/node_ops.h"

namespace amct::tensorflow {

/// One place where a node is read: input `index` of `node`; port -1 is a control input.
struct NodeUse {
  schema::Node* node;
  int index;
  int port;
};

/// Looks up and edits the nodes of a GraphDef by name. Removed nodes leave the message, with the
/// control inputs and colocations that name them, in finish(). Node addresses stay valid.
class GraphEditor {
 public:
  /// Throws Error(kInvalidModel) on nodes without or with the same name.
  explicit GraphEditor(schema::Graph& graph);

  /// Nodes in the order of the file, new ones at the end, removed ones left out.
  std::vector<schema::Node*> nodes() const;
  /// Null when there is no such node (any more).
  schema::Node* find(std::string_view name) const;
  /// The node at a data input; null when there is none.
  schema::Node* producer(const schema::Node& node, int input) const;
  /// Uses by nodes that are not removed, in no particular order.
  std::vector<NodeUse> uses(const schema::Node& node) const;
  bool removed(const schema::Node& node) const { return removed_.contains(&node); }

  /// `name` itself, or with "_1", "_2"... when it is taken.
  std::string unique_name(const std::string& name) const;
  schema::Node& add(schema::Node node);
  /// A new node with data inputs and a device.
  schema::Node& add(const std::string& name, std::string_view op,
                    const std::vector<std::string>& inputs, const std::string& device);
  void set_input(schema::Node& node, int index, const std::string& input);
  void set_inputs(schema::Node& node, const std::vector<std::string>& inputs);
  /// Every data use of output `port` reads `input` instead.
  void replace_uses(const schema::Node& node, int port, const std::string& input,
                    const schema::Node* except = nullptr);
  /// Control inputs on `node` become control inputs on all of `instead`.
  void replace_control(const schema::Node& node, const std::vector<std::string>& instead);
  void remove(schema::Node& node);
  void finish();

 private:
  void note_inputs(schema::Node& node);

  schema::Graph& graph_;
  std::unordered_map<std::string, schema::Node*> by_name_;
  std::unordered_map<std::string, std::vector<schema::Node*>> readers_;
  std::unordered_set<const schema::Node*> removed_;
};

}  // namespace amct::tensorflow
