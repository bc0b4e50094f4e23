#pragma once

#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

enum class Severity { kError, kWarning };

struct Finding {
  Severity severity{};
  std::string node;
  std::string message;
  bool operator==(const Finding&) const = default;
};

/// What the NPU's compiler would refuse or misread in a deploy model (spec upstream_facts 1.1 to
/// 1.6), in graph order; model-wide findings have no node. Empty: nothing found.
std::vector<Finding> check_deploy(const ir::Model& model);

}  // namespace amct::passes
