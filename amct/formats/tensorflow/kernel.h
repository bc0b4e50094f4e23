#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/graph_editor.h"
#include "amct/formats/tensorflow/meta_graph.h"
#include "amct/formats/tensorflow/saver_index.h"

namespace amct::tensorflow {

/// One variable that holds a kernel, or a part of it.
struct KernelPart {
  schema::Node* variable;
  std::vector<std::int64_t> dims;
  VariableKey key;
};

/// A kernel [height, width, in channels, out channels] held by one variable, or by several that the
/// graph joins along one axis.
struct Kernel {
  std::string name;
  std::vector<KernelPart> parts;
  std::vector<std::int64_t> dims;
  int axis = 0;
  std::int32_t data_type = 0;
  bool resource = false;
};

/// A Conv2D node and the nodes between it and the variables of its kernel.
struct ConvSite {
  schema::Node* node;
  Convolution info;
  std::vector<schema::Node*> kernel_path;  // Cast, Identity, ConcatV2, reads
  schema::Node* joint = nullptr;           // the ConcatV2 of a partitioned kernel
};

/// Convolutions of a graph, and their kernels by name.
struct ConvSites {
  std::vector<ConvSite> sites;
  std::unordered_map<std::string, Kernel> kernels;
};

/// `in_context` names the nodes inside tf.cond and tf.while_loop.
ConvSites find_convolutions(const GraphEditor& graph, const std::vector<SaverNode>& savers,
                            const std::unordered_set<std::string>& in_context,
                            const CheckpointReader& checkpoint);

/// True when `node`, a Conv2DBackpropInput or Conv2DBackpropFilter, is the gradient of `conv`.
bool is_gradient_of(const GraphEditor& graph, const schema::Node& node, const schema::Node& conv);

}  // namespace amct::tensorflow
