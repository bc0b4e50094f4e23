#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// Newest and oldest operator set that raise_opset converts between.
constexpr std::int64_t kOldestRaisable = 7;
constexpr std::int64_t kNewestRaised = 13;

/// Rewrites every node, subgraphs included, so that the model says the same in operator set
/// `target` (at most kNewestRaised) of the default domain; a model that is as new already stays as
/// it is. Returns one line for each node that has no equal form there, naming node and cause; then
/// nothing was changed. Throws Error(kInternal) for a larger target.
std::vector<std::string> raise_opset(ir::Model& model, std::int64_t target);

}  // namespace amct::passes
