#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// A data test of passes:
///   pipeline: fuse_bn_mul fuse_conv_bn   (or: raise_opset 13)
///   keep: conv1 bn2             (optional: layers that fusion leaves)
///   numerics: exact|tolerance   (or none: the model cannot be executed)
///   --- before
///   <model as text>
///   --- after                   (missing in a fresh reproducer)
///   <model as text>
struct CaseFile {
  std::vector<std::string> pipeline;
  std::vector<std::string> keep;
  std::string numerics;
  std::string before;
  std::string after;
};

/// Throws std::runtime_error naming the file when a part is missing or unknown.
CaseFile read_case(const std::filesystem::path& file);

/// The model after the case's passes, verified after each.
ir::Model run_case(const CaseFile& test);

}  // namespace amct::passes
