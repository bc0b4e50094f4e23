#include <algorithm>

#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/retire.h"

namespace amct::tensorflow {
namespace {

using Seen = std::unordered_set<const schema::Node*>;

bool is_optimizer_step(const schema::Node& node) {
  return is_mutation(node.op()) && !is_assignment(node.op());
}

bool asks_if_initialized(const std::string& op) {
  return op == "IsVariableInitialized" || op == "VarIsInitializedOp";
}

/// True when every way from `start` ends in a saver or in a change of some variable.
bool serves_training(const GraphEditor& graph, const schema::Node& start) {
  std::vector<const schema::Node*> waiting{&start};
  Seen seen{&start};
  while (!waiting.empty()) {
    const schema::Node& node = *waiting.back();
    waiting.pop_back();
    if (is_mutation(node.op()) || node.op() == "SaveV2" || node.op() == "DisableCopyOnRead" ||
        asks_if_initialized(node.op()))
      continue;
    bool used = node.op() == "Identity" || node.op() == "ReadVariableOp";
    for (const NodeUse& use : graph.uses(node)) {
      if (use.port == -1) continue;
      used = true;
      if (seen.insert(use.node).second) waiting.push_back(use.node);
    }
    if (!used) return false;
  }
  return true;
}

/// True when only steps on retired kernels (or on itself) change the variable.
bool changes_with_kernels(const GraphEditor& graph, const schema::Node& variable,
                          const RetiredVariables& retired) {
  return std::ranges::all_of(graph.uses(variable), [&](const NodeUse& use) {
    if (!is_optimizer_step(*use.node)) return true;
    const schema::Node* changed = graph.producer(*use.node, 0);
    return changed == &variable || retired.contains(changed);
  });
}

/// The retired kernel variable under whose name a variable lies.
bool lies_under(const std::string& name, const std::unordered_set<std::string>& owners) {
  for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
    if (owners.contains(name.substr(0, slash))) return true;
  return false;
}

class TrainingRemoval {
 public:
  TrainingRemoval(GraphEditor& graph, const RetiredVariables& retired)
      : graph_(graph), retired_(retired) {}

  std::size_t run(const std::vector<ConvSite>& sites) {
    add_gradients(sites);
    for (const auto& [variable, role] : retired_)
      for (const NodeUse& use : graph_.uses(*variable)) visit_use(use, role);
    spread();
    remove_dead_gradients(sites);
    return count_;
  }

 private:
  void add_gradients(const std::vector<ConvSite>& sites) {
    for (schema::Node* node : graph_.nodes()) {
      if (!node->op().starts_with("Conv2DBackprop")) continue;
      if (std::ranges::any_of(sites, [&](const ConvSite& site) {
            return is_gradient_of(graph_, *node, *site.node);
          }))
        waiting_.push_back(node);
    }
  }

  void visit_use(const NodeUse& use, const Retired& role) {
    schema::Node& node = *use.node;
    if (graph_.removed(node)) return;
    if (is_assignment(node.op()) && use.index == 0) {
      retire_assignment(node, role);
    } else if (is_mutation(node.op())) {
      waiting_.push_back(&node);
    } else if (role.pair != nullptr) {
      if (asks_if_initialized(node.op()))
        graph_.set_input(node, use.index, role.pair->first.variable.name);
    } else if (asks_if_initialized(node.op())) {
      become_true(node);
    } else {
      graph_.remove(node);
      for (const NodeUse& next : graph_.uses(node))
        if (next.port != -1) waiting_.push_back(next.node);
    }
  }

  void retire_assignment(schema::Node& node, const Retired& role) {
    std::vector<std::string> instead;
    if (role.pair != nullptr)
      instead = {role.pair->first.names.initializer, role.pair->last.names.initializer};
    graph_.replace_control(node, instead);
    for (const NodeUse& use : graph_.uses(node)) waiting_.push_back(use.node);
    graph_.remove(node);
  }

  /// A slot that is gone never keeps a session from being ready.
  void become_true(schema::Node& node) {
    graph_.set_inputs(node, {});
    node.set_op("Const");
    node.clear_attr();
    set_type(node, "dtype", kBool);
    schema::Tensor& tensor = *set_attr(node, "value").mutable_tensor();
    tensor.set_dtype(kBool);
    tensor.mutable_tensor_shape();
    tensor.set_tensor_content("\x01");
  }

  void drop_summary(schema::Node& merge, const schema::Node& input) {
    std::vector<std::string> inputs;
    for (const std::string& text : merge.input())
      if (parse_input(text).node != input.name()) inputs.push_back(text);
    graph_.set_inputs(merge, inputs);
    const int left = data_input_count(merge);
    if (left == 0)
      waiting_.push_back(&merge);
    else
      set_attr(merge, "N").set_i(left);
  }

  void spread() {
    while (!waiting_.empty()) {
      schema::Node& node = *waiting_.back();
      waiting_.pop_back();
      if (graph_.removed(node)) continue;
      graph_.remove(node);
      ++count_;
      for (const NodeUse& use : graph_.uses(node)) {
        if (graph_.removed(*use.node)) continue;
        if (use.node->op() == "MergeSummary" && use.port != -1)
          drop_summary(*use.node, node);
        else
          waiting_.push_back(use.node);
      }
    }
  }

  /// True when `start` belongs to a gradient and nothing that is left needs it.
  bool is_dead_gradient(const schema::Node& start) const {
    std::vector<const schema::Node*> waiting{&start};
    Seen seen{&start};
    while (!waiting.empty()) {
      const schema::Node& node = *waiting.back();
      waiting.pop_back();
      if (node.name().find("_grad/") == std::string::npos) return false;
      for (const NodeUse& use : graph_.uses(node))
        if (seen.insert(use.node).second) waiting.push_back(use.node);
    }
    return true;
  }

  void visit_gradients_behind(const schema::Node& tensor) {
    for (const NodeUse& use : graph_.uses(tensor)) {
      if (graph_.removed(*use.node) || !is_dead_gradient(*use.node)) continue;
      waiting_.push_back(use.node);
      spread();
    }
  }

  void remove_dead_gradients(const std::vector<ConvSite>& sites) {
    for (const ConvSite& site : sites)
      for (const schema::Node* tensor : site.kernel_path)
        if (!graph_.removed(*tensor)) visit_gradients_behind(*tensor);
    for (const auto& [variable, role] : retired_)
      for (const NodeUse& use : graph_.uses(*variable))
        if (use.node->op() == "Identity" || use.node->op() == "ReadVariableOp")
          visit_gradients_behind(*use.node);
  }

  GraphEditor& graph_;
  const RetiredVariables& retired_;
  std::vector<schema::Node*> waiting_;
  std::size_t count_ = 0;
};

}  // namespace

void find_slots(const GraphEditor& graph, RetiredVariables& retired) {
  std::vector<const schema::Node*> slots;
  std::unordered_set<std::string> owners;
  for (const auto& [kernel, role] : retired) {
    owners.insert(kernel->name());
    owners.insert(role.kernel->name);
    for (const NodeUse& use : graph.uses(*kernel)) {
      if (!is_optimizer_step(*use.node) || use.index != 0) continue;
      for (int i = 1; i < data_input_count(*use.node); ++i) {
        const schema::Node* slot = graph.producer(*use.node, i);
        if (slot != nullptr && is_variable(slot->op()) &&
            changes_with_kernels(graph, *slot, retired))
          slots.push_back(slot);
      }
    }
  }
  for (const schema::Node* node : graph.nodes()) {
    if (!is_variable(node->op()) || !lies_under(node->name(), owners)) continue;
    const bool training = std::ranges::all_of(
        graph.uses(*node), [&](const NodeUse& use) { return serves_training(graph, *use.node); });
    if (training) slots.push_back(node);
  }
  for (const schema::Node* slot : slots) retired.emplace(slot, Retired{});
}

std::size_t remove_training(GraphEditor& graph, const std::vector<ConvSite>& sites,
                            const RetiredVariables& retired) {
  return TrainingRemoval(graph, retired).run(sites);
}

}  // namespace amct::tensorflow
