#pragma once

#include <string>
#include <vector>

namespace amct::config {

/// What the config needs to know of one quantizable layer.
struct LayerInfo {
  std::string name;
  std::string op_type;
  int weight_rank = 0;  // 0: no constant weight
  bool per_channel_allowed = false;
};

/// Any node of the model.
struct NodeInfo {
  std::string name;
  std::string op_type;
  int num_inputs = 0;
};

/// What names in a config may refer to.
struct ModelInfo {
  std::vector<LayerInfo> layers;  // quantizable layers in graph order, unique names
  std::vector<NodeInfo> nodes;    // every node, quantizable or not
};

}  // namespace amct::config
