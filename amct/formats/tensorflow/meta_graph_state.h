#pragma once

#include <unordered_set>

#include "amct/formats/tensorflow/kernel.h"

namespace amct::tensorflow {

struct MetaGraph::State {
  std::string name;
  schema::MetaGraph message;
  /// Kernels that convolutions() found, for read_kernel().
  std::unordered_map<std::string, Kernel> kernels;
};

/// Names of nodes inside tf.cond and tf.while_loop, from their collections.
std::unordered_set<std::string> nodes_in_contexts(const schema::MetaGraph& meta);
/// Names of nodes that collections of tensors and operations list.
std::unordered_set<std::string> nodes_in_lists(const schema::MetaGraph& meta);

/// A variable of a split graph as collections hold it.
struct VariableNames {
  std::string variable;
  std::string initializer;    // operation
  std::string snapshot;       // tensor
  std::string initial_value;  // tensor
};

/// Brings the collections in line with the graph: declarations of variables named in `replaced`
/// give way to those of the new ones (none for dropped variables); entries that name nodes which
/// are not in the graph are removed.
void update_collections(schema::MetaGraph& meta,
                        const std::unordered_map<std::string, std::vector<VariableNames>>& replaced,
                        const std::unordered_set<std::string>& removed);

}  // namespace amct::tensorflow
