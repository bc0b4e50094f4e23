#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/kernels/compare.h"
#include "amct/runtime/data_source.h"
#include "amct/runtime/executor.h"
#include "amct/workflow/batch_progress.h"
#include "amct/workflow/run_usage.h"

namespace amct::workflow {

/// One floating-point tensor that exists under the same name in both models.
struct TensorComparison {
  std::string name;
  /// Label of the node that computes it in the reference; empty for a graph input.
  std::string node;
  bool is_output = false;
  /// Over all batches; cosine(), sqnr_db(), max_difference.
  kernels::Comparison sums;
  /// Why it was not compared (shapes differ), else empty.
  std::string problem;
};

struct ModelComparison {
  /// In the order in which the reference computes them.
  std::vector<TensorComparison> tensors;
  /// Floating-point outputs of nodes of the reference that the other model does not have.
  std::vector<std::string> unmatched;
  std::size_t batches = 0;
  RunUsage usage;
};

struct CompareOptions {
  runtime::ExecutorOptions executor;
  /// Compare these tensors only; empty: all that both models have.
  std::vector<std::string> names;
  BatchProgress progress;
};

/// Runs both models on the first `batch_num` batches (0: all) and compares, batch by batch, every
/// floating-point tensor of their main graphs that they have in common. One batch's tensors are in
/// memory at a time. Deploy models have to be lowered before (load_runnable). Throws
/// Error(kInvalidModel) when the inputs of the models differ or nothing is in common.
ModelComparison compare_models(const ir::Model& reference, const ir::Model& other,
                               runtime::DataSource& data, std::size_t batch_num,
                               const CompareOptions& options = {});

}  // namespace amct::workflow
