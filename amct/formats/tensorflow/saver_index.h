#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "amct/formats/tensorflow/graph_editor.h"
#include "amct/formats/tensorflow/ordered_code.h"

namespace amct::tensorflow {

/// One tensor that a SaveV2 or RestoreV2 node handles.
struct SaverEntry {
  std::string key;
  std::string slice;                 // "<full dims> <ranges>", or empty
  schema::Node* variable = nullptr;  // which is saved or restored; null when not recognised
  std::vector<schema::Node*> chain;  // nodes between the saver node and the variable
};

struct SaverNode {
  schema::Node* node = nullptr;
  bool restores = false;
  bool main = false;  // belongs to the saver that the .meta itself names
  std::vector<SaverEntry> entries;
};

/// All saver nodes of a graph. Throws Error(kUnsupported) on savers of version V1.
std::vector<SaverNode> find_savers(const GraphEditor& graph, const schema::Saver& saver);

/// Under which key (and slice of it) a checkpoint holds a variable: what the main saver says, else
/// another saver, else the variable's own name.
struct VariableKey {
  std::string key;
  std::string slice;
};
VariableKey key_of(const schema::Node& variable, const std::vector<SaverNode>& savers);

/// A slice text "3 3 8 8 0,3:0,3:0,4:-" in parts; empty when it is none.
struct SliceSpec {
  std::vector<std::int64_t> dims;
  std::vector<SliceRange> ranges;
};
std::optional<SliceSpec> parse_slice(std::string_view text);

/// Follows Identity and ReadVariableOp nodes from a tensor to a variable; null when it is none.
/// Nodes on the way are appended to `chain`.
schema::Node* read_variable(const GraphEditor& graph, const std::string& tensor,
                            std::vector<schema::Node*>* chain = nullptr);

}  // namespace amct::tensorflow
