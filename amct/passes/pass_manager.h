#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/pass.h"

namespace amct::passes {

struct PassManagerOptions {
  /// Names of passes that are left out. Throws Error(kUsage) from run() when no pass has the name.
  std::vector<std::string> skip_passes;
  /// Folder for reproducers; created when needed. Empty: none is written.
  std::filesystem::path reproducer_dir;
};

struct PassRecord {
  std::string name;
  std::size_t changes = 0;
  double seconds = 0.0;
};

/// Runs the passes of a pipeline in order and, after each that changed something, verifies the
/// graph. When a pass throws or leaves a broken graph, the model is put back to what it was before
/// that pass, that state is written as "<reproducer_dir>/<pass>.txt" (the form of the test cases in
/// tests/passes) and Error(kInternal or the pass's own code) names pass, cause and file.
class PassManager {
 public:
  explicit PassManager(PassManagerOptions options = {}) : options_(std::move(options)) {}
  /// One record for each pass that ran.
  std::vector<PassRecord> run(ir::Model& model, const Pipeline& pipeline) const;

 private:
  bool skipped(std::string_view pass) const;
  PassRecord run_pass(ir::Model& model, Pass& pass) const;
  std::string write_reproducer(const ir::Model& before, std::string_view pass) const;

  PassManagerOptions options_;
};

}  // namespace amct::passes
