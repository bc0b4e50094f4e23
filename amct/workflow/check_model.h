#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace amct::workflow {

struct CheckSummary {
  /// "error: node: message" and "warning: node: message", in graph order.
  std::vector<std::string> findings;
  std::size_t errors = 0;
  std::size_t warnings = 0;
};

/// Validates a deploy model file (passes/check_deploy.h).
CheckSummary check_model(const std::filesystem::path& path);

}  // namespace amct::workflow
