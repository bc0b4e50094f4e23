#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "amct/formats/tensorflow/new_nodes.h"

namespace amct::tensorflow {

/// A variable that leaves the graph: part of a split kernel, or (pair null) one of its slots.
struct Retired {
  const Kernel* kernel = nullptr;
  const Pair* pair = nullptr;
  std::size_t part = 0;
};
/// In the order of names, so that equal input gives equal output. Null is looked up and not found.
struct ByName {
  bool operator()(const schema::Node* a, const schema::Node* b) const {
    if (a == nullptr || b == nullptr) return a == nullptr && b != nullptr;
    return a->name() < b->name();
  }
};
using RetiredVariables = std::map<const schema::Node*, Retired, ByName>;

/// Adds the slots of the kernels in `retired`: variables that an optimizer changes together with
/// one, and variables named under one that nothing but training reads.
void find_slots(const GraphEditor& graph, RetiredVariables& retired);

/// Lets savers save and restore the new variables instead of the retired ones.
void update_savers(GraphEditor& graph, std::vector<SaverNode>& savers,
                   const RetiredVariables& retired);

/// Removes the gradients of the convolutions, what changes a retired variable, and everything that
/// depends on these; initializers of kernels give way to those of the new variables. Returns the
/// number of nodes.
std::size_t remove_training(GraphEditor& graph, const std::vector<ConvSite>& sites,
                            const RetiredVariables& retired);

/// Lets what still reads a split kernel read the product of the new variables, and removes reads
/// that nothing uses. `pinned` names nodes that stay without a reader.
void update_readers(GraphEditor& graph, const std::vector<ConvSite>& sites,
                    const RetiredVariables& retired, const std::unordered_set<std::string>& pinned);

/// Removes the variables themselves with their initial values.
void remove_variables(GraphEditor& graph, const RetiredVariables& retired,
                      const std::unordered_set<std::string>& pinned);

}  // namespace amct::tensorflow
