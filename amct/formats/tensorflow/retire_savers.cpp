#include <algorithm>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/printable.h"
#include "amct/formats/tensorflow/retire.h"

namespace amct::tensorflow {
namespace {

constexpr int kFirstSaved = 3;  // inputs of SaveV2 before the tensors

class SaverUpdate {
 public:
  SaverUpdate(GraphEditor& graph, SaverNode& saver, const RetiredVariables& retired)
      : graph_(graph), saver_(saver), retired_(retired) {}

  void run() {
    plan();
    if (saver_.restores)
      update_restore();
    else
      update_save();
  }

 private:
  struct NewEntry {
    SaverEntry entry;
    std::int32_t type;
    int old_index;                         // -1 for a new variable
    const VariableNodes* added = nullptr;  // the new variable
    const SaverEntry* instead = nullptr;   // the entry whose place it takes
  };

  const Retired* find(const SaverEntry& entry) const {
    const auto found = retired_.find(entry.variable);
    return found != retired_.end() ? &found->second : nullptr;
  }

  void plan() {
    const schema::AttrList& types = find_attr(*saver_.node, "dtypes")->list();
    std::unordered_set<const Pair*> done;
    for (std::size_t i = 0; i < saver_.entries.size(); ++i) {
      SaverEntry& entry = saver_.entries[i];
      const std::int32_t type = types.type(static_cast<int>(i));
      const Retired* retired = find(entry);
      if (retired == nullptr) {
        entries_.push_back({entry, type, static_cast<int>(i), nullptr, nullptr});
        continue;
      }
      if (retired->pair == nullptr || !done.insert(retired->pair).second) continue;
      for (const VariableNodes* added : {&retired->pair->first, &retired->pair->last})
        entries_.push_back({{added->variable.name, {}, nullptr, {}}, type, -1, added, &entry});
    }
  }

  /// The constant at an input, when nothing else reads it; else a copy of it.
  schema::Node& own_constant(int input) {
    schema::Node& constant = *graph_.producer(*saver_.node, input);
    if (graph_.uses(constant).size() == 1) return constant;
    schema::Node copy = constant;
    copy.set_name(graph_.unique_name(constant.name() + "_decomp"));
    schema::Node& added = graph_.add(std::move(copy));
    graph_.set_input(*saver_.node, input, added.name());
    return added;
  }

  void write_lists() {
    std::vector<std::string> keys;
    std::vector<std::string> slices;
    schema::AttrList types;
    for (const NewEntry& entry : entries_) {
      keys.push_back(entry.entry.key);
      slices.push_back(entry.entry.slice);
      types.add_type(entry.type);
    }
    set_constant_texts(own_constant(1), keys);
    set_constant_texts(own_constant(2), slices);
    *set_attr(*saver_.node, "dtypes").mutable_list() = types;
    remove_attr(*saver_.node, "_output_shapes");
  }

  void update_restore() {
    // All readers by old port, before any is changed.
    const std::vector<NodeUse> readers = graph_.uses(*saver_.node);
    std::unordered_map<const SaverEntry*, std::vector<std::string>> assignments;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const NewEntry& entry = entries_[i];
      const std::string tensor = tensor_name(saver_.node->name(), static_cast<int>(i));
      if (entry.added == nullptr) {
        for (const NodeUse& use : readers)
          if (use.port == entry.old_index) graph_.set_input(*use.node, use.index, tensor);
        continue;
      }
      const std::string& old_name = entry.instead->chain.back()->name();
      std::vector<std::string>& names = assignments[entry.instead];
      const std::string name =
          graph_.unique_name(old_name + (names.empty() ? "_decomp_first" : "_decomp_last"));
      add_assignment(graph_, name, *graph_.find(entry.added->variable.name), tensor);
      names.push_back(name);
    }
    for (const SaverEntry& entry : saver_.entries) {
      if (find(entry) == nullptr) continue;
      for (schema::Node* node : entry.chain) {
        const bool assignment = node == entry.chain.back();
        graph_.replace_control(*node,
                               assignment ? assignments[&entry] : std::vector<std::string>());
        graph_.remove(*node);
      }
    }
    finish();
  }

  void update_save() {
    std::vector<std::string> inputs(saver_.node->input().begin(),
                                    saver_.node->input().begin() + kFirstSaved);
    for (const NewEntry& entry : entries_) {
      if (entry.added == nullptr)
        inputs.push_back(saver_.node->input(kFirstSaved + entry.old_index));
      else if (entry.instead->variable->op() == "VarHandleOp")
        inputs.push_back(entry.added->names.snapshot);
      else
        inputs.push_back(entry.added->variable.name);
    }
    for (int i = data_input_count(*saver_.node); i < saver_.node->input_size(); ++i)
      inputs.push_back(saver_.node->input(i));
    graph_.set_inputs(*saver_.node, inputs);
    for (const SaverEntry& entry : saver_.entries)
      if (find(entry) != nullptr)
        for (schema::Node* node : entry.chain)
          if (!graph_.removed(*node) && graph_.uses(*node).empty()) graph_.remove(*node);
    finish();
  }

  /// A saver node that has nothing left to do goes.
  void finish() {
    if (entries_.empty())
      graph_.remove(*saver_.node);
    else
      write_lists();
  }

  GraphEditor& graph_;
  SaverNode& saver_;
  const RetiredVariables& retired_;
  std::vector<NewEntry> entries_;
};

}  // namespace

void update_savers(GraphEditor& graph, std::vector<SaverNode>& savers,
                   const RetiredVariables& retired) {
  std::unordered_set<std::string> keys;
  for (const auto& [variable, role] : retired)
    if (role.kernel != nullptr) keys.insert(role.kernel->parts[role.part].key.key);
  for (SaverNode& saver : savers) {
    for (const SaverEntry& entry : saver.entries)
      if (saver.main && entry.variable == nullptr && keys.contains(entry.key))
        raise(
            ErrorCode::kUnsupported,
            "node '{}' ({}) handles '{}' in a form that is not known; save the model with a plain "
            "tf.compat.v1.train.Saver",
            printable(saver.node->name()), saver.node->op(), printable(entry.key));
    const bool concerned = std::ranges::any_of(
        saver.entries, [&](const SaverEntry& entry) { return retired.contains(entry.variable); });
    if (concerned) SaverUpdate(graph, saver, retired).run();
  }
}

}  // namespace amct::tensorflow
