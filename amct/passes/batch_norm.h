#pragma once

#include <optional>
#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// A BatchNormalization in inference form as y = x * scale + shift, one number per channel (axis
/// 1).
struct BatchNorm {
  std::vector<double> scale;
  std::vector<double> shift;
};

/// Empty unless `node` is a BatchNormalization that computes exactly that: no training form,
/// constant float32 parameters of one length, variance + epsilon above zero, all results finite.
std::optional<BatchNorm> read_batch_norm(const ir::Node& node);

/// The node that computes input `index` of `node` when that node feeds nothing else.
ir::Node* sole_producer(const ir::Node& node, std::size_t index);

/// True when the list holds the node's name.
bool listed(const std::vector<std::string>& names, const ir::Node& node);

}  // namespace amct::passes
