#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// Operator sets in which the NPU's compiler knows AscendQuant and its like (upstream_facts 1.1).
constexpr std::int64_t kOldestDeployOpset = 8;
constexpr std::int64_t kNewestDeployOpset = 22;

enum class Severity { kError, kWarning };

struct Finding {
  Severity severity{};
  std::string node;
  std::string message;
  bool operator==(const Finding&) const = default;
};

/// What the NPU's compiler would refuse or misread in a deploy model (spec upstream_facts 1.1 to
/// 1.6): model-wide findings, which have no node, then the nodes in graph order. Empty: nothing.
std::vector<Finding> check_deploy(const ir::Model& model);

/// The findings about nodes alone: what must hold for the integer arithmetic to have a meaning,
/// whatever operator set and shapes the compiler takes.
std::vector<Finding> check_deploy_nodes(const ir::Model& model);

}  // namespace amct::passes
