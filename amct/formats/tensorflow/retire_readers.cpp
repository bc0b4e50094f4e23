#include <algorithm>

#include "amct/formats/tensorflow/retire.h"

namespace amct::tensorflow {
namespace {

using Names = std::unordered_set<std::string>;

class ReaderUpdate {
 public:
  ReaderUpdate(GraphEditor& graph, const RetiredVariables& retired, const Names& pinned)
      : graph_(graph), retired_(retired), pinned_(pinned) {}

  void visit_path(const ConvSite& site) {
    for (schema::Node* node : site.kernel_path) {
      if (graph_.removed(*node) || needed(*node)) break;
      graph_.remove(*node);
    }
    if (site.joint == nullptr || graph_.removed(*site.joint)) return;
    const schema::Node* variable = read_variable(graph_, site.joint->input(0));
    const auto found = retired_.find(variable);
    if (found == retired_.end()) return;  // done for another convolution
    become_identity(graph_, *site.joint, product(found->second), found->second.kernel->data_type);
  }

  void visit_variable(const schema::Node& variable, const Retired& role) {
    for (const NodeUse& use : graph_.uses(variable)) {
      schema::Node& node = *use.node;
      const bool read = node.op() == "Identity" || node.op() == "ReadVariableOp";
      if (node.op() == "DisableCopyOnRead" || (read && !needed(node)))
        graph_.remove(node);
      else if (read)
        redirect(node, role);
      else
        read_value(use, part_tensor(variable, role));
    }
  }

 private:
  void read_value(const NodeUse& use, const std::string& tensor) {
    if (passes_reference(use.node->op())) use.node->set_op(use.node->op().substr(3));
    graph_.set_input(*use.node, use.index, tensor);
  }

  bool needed(const schema::Node& node) const {
    return pinned_.contains(node.name()) || !graph_.uses(node).empty();
  }

  const std::string& product(const Retired& role) {
    std::string& name = products_[role.kernel];
    if (name.empty()) name = add_product(graph_, *role.kernel, *role.pair);
    return name;
  }

  void redirect(schema::Node& node, const Retired& role) {
    const Kernel& kernel = *role.kernel;
    if (kernel.parts.size() == 1) {
      become_identity(graph_, node, product(role), kernel.data_type);
      return;
    }
    const auto axis = static_cast<std::size_t>(kernel.axis);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < role.part; ++i) start += kernel.parts[i].dims[axis];
    become_slice(graph_, node, product(role), kernel.axis, start,
                 kernel.parts[role.part].dims[axis], kernel.data_type);
  }

  /// For nodes that read a reference variable without a read in between.
  std::string part_tensor(const schema::Node& variable, const Retired& role) {
    if (role.kernel->parts.size() == 1) return product(role);
    schema::Node& node = graph_.add(graph_.unique_name(variable.name() + "_decomp_part"),
                                    "Identity", {product(role)}, variable.device());
    redirect(node, role);
    return node.name();
  }

  GraphEditor& graph_;
  const RetiredVariables& retired_;
  const Names& pinned_;
  std::unordered_map<const Kernel*, std::string> products_;
};

/// "<variable>/Initializer/..." and what else TensorFlow puts under a variable for itself.
const schema::Node* owner(const GraphEditor& graph, const std::string& name,
                          const RetiredVariables& retired) {
  for (const char* part :
       {"/Initializer", "/IsInitialized/", "/initial_value", "/Read/", "/read"}) {
    const auto at = name.rfind(part);
    if (at == std::string::npos) continue;
    const schema::Node* node = graph.find(name.substr(0, at));
    if (node != nullptr && retired.contains(node)) return node;
  }
  return nullptr;
}

}  // namespace

void update_readers(GraphEditor& graph, const std::vector<ConvSite>& sites,
                    const RetiredVariables& retired, const Names& pinned) {
  ReaderUpdate update(graph, retired, pinned);
  for (const ConvSite& site : sites) update.visit_path(site);
  for (const auto& [variable, role] : retired)
    if (role.pair != nullptr) update.visit_variable(*variable, role);
}

void remove_variables(GraphEditor& graph, const RetiredVariables& retired, const Names& pinned) {
  std::vector<schema::Node*> served;
  for (schema::Node* node : graph.nodes())
    if (owner(graph, node->name(), retired) != nullptr && !pinned.contains(node->name()))
      served.push_back(node);
  for (const auto& [variable, role] : retired) graph.remove(*graph.find(variable->name()));
  // Readers stand behind what they read, mostly: from the end, until nothing more goes.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto node = served.rbegin(); node != served.rend(); ++node)
      if (!graph.removed(**node) && graph.uses(**node).empty()) {
        graph.remove(**node);
        changed = true;
      }
  }
}

}  // namespace amct::tensorflow
