#include <algorithm>
#include <map>

#include "amct/base/assert.h"
#include "amct/formats/tensorflow/meta_graph_state.h"
#include "amct/formats/tensorflow/retire.h"

namespace amct::tensorflow {
namespace {

/// A name that neither a node nor a tensor of the checkpoint has.
std::string new_name(const GraphEditor& graph, const CheckpointReader& checkpoint,
                     const std::string& wanted) {
  std::string name = graph.unique_name(wanted);
  for (int i = 1; checkpoint.find(name) != nullptr; ++i)
    name = graph.unique_name(wanted + "_" + std::to_string(i));
  return name;
}

Pair add_pair(GraphEditor& graph, const CheckpointReader& checkpoint, const Kernel& kernel,
              const KernelSplit& split) {
  const std::int64_t height = kernel.dims[0], width = kernel.dims[1];
  const bool tall = split.first_has_height;
  const std::array first{tall ? height : 1, tall ? 1 : width, kernel.dims[2], split.rank};
  const std::array last{tall ? 1 : height, tall ? width : 1, split.rank, kernel.dims[3]};
  const schema::Node& like = *kernel.parts.front().variable;
  const auto add = [&](const char* suffix, const std::array<std::int64_t, 4>& dims) {
    return add_variable(graph, like, new_name(graph, checkpoint, kernel.name + suffix), dims);
  };
  return {add("_decomp_first", first), add("_decomp_last", last), tall};
}

/// Tensors of the checkpoint that belong to what was retired: also slots that a graph for inference
/// does not have, but the checkpoint of its training does.
std::vector<std::string> keys_to_drop(const CheckpointReader& checkpoint,
                                      const std::vector<SaverNode>& savers,
                                      const GraphEditor& graph, const RetiredVariables& retired) {
  std::unordered_set<std::string> live;
  std::unordered_set<std::string> gone;
  std::vector<std::string> prefixes;
  for (const schema::Node* node : graph.nodes()) {
    if (!is_variable(node->op())) continue;
    const std::string key = key_of(*node, savers).key;
    const auto found = retired.find(node);
    (found != retired.end() ? gone : live).insert(key);
    if (found != retired.end() && found->second.kernel != nullptr) prefixes.push_back(key + "/");
  }
  std::vector<std::string> keys;
  for (const auto& [key, entry] : checkpoint.tensors()) {
    if (live.contains(key)) continue;
    const bool slot = std::ranges::any_of(
        prefixes, [&key = key](const std::string& prefix) { return key.starts_with(prefix); });
    if (slot || gone.contains(key)) keys.push_back(key);
  }
  return keys;
}

SplitKernel describe(const Kernel& kernel, const Pair& pair) {
  SplitKernel result{kernel.name,       {}, kernel.data_type, kernel.resource, pair.first.variable,
                     pair.last.variable};
  for (const KernelPart& part : kernel.parts) result.replaced.push_back(part.variable->name());
  return result;
}

}  // namespace

SplitResult MetaGraph::split(std::span<const KernelSplit> splits,
                             const CheckpointReader& checkpoint) {
  GraphEditor graph(*state_->message.mutable_graph_def());
  auto savers = find_savers(graph, state_->message.saver_def());
  ConvSites found =
      find_convolutions(graph, savers, nodes_in_contexts(state_->message), checkpoint);
  const auto pinned = nodes_in_lists(state_->message);
  std::unordered_set<std::string> before;
  for (const schema::Node* node : graph.nodes()) before.insert(node->name());

  SplitResult result;
  std::map<std::string, Pair> pairs;
  RetiredVariables retired;
  std::unordered_map<std::string, std::vector<VariableNames>> replaced;
  for (const KernelSplit& split : splits) {
    const Kernel& kernel = found.kernels.at(split.kernel);
    const Pair& pair =
        pairs.emplace(split.kernel, add_pair(graph, checkpoint, kernel, split)).first->second;
    for (std::size_t i = 0; i < kernel.parts.size(); ++i) {
      retired[kernel.parts[i].variable] = {&kernel, &pair, i};
      replaced[kernel.parts[i].variable->name()] = {pair.first.names, pair.last.names};
    }
    result.kernels.push_back(describe(kernel, pair));
  }
  std::erase_if(found.sites,
                [&](const ConvSite& site) { return !pairs.contains(site.info.kernel); });
  find_slots(graph, retired);
  for (const auto& [variable, role] : retired)
    if (role.pair == nullptr) replaced[variable->name()] = {};
  result.dropped_keys = keys_to_drop(checkpoint, savers, graph, retired);

  update_savers(graph, savers, retired);
  result.removed_training_nodes = remove_training(graph, found.sites, retired);
  for (const ConvSite& site : found.sites) {
    AMCT_ASSERT(site.info.refusal.empty());
    result.convolutions.push_back(split_convolution(graph, site, pairs.at(site.info.kernel)));
  }
  update_readers(graph, found.sites, retired, pinned);
  remove_variables(graph, retired, pinned);

  std::unordered_set<std::string> removed;
  for (const std::string& name : before)
    if (graph.find(name) == nullptr) removed.insert(name);
  graph.finish();
  update_collections(state_->message, replaced, removed);
  return result;
}

}  // namespace amct::tensorflow
