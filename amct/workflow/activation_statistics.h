#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "amct/base/quant_options.h"
#include "amct/ir/graph.h"
#include "amct/quant/activation_observer.h"
#include "amct/runtime/data_source.h"
#include "amct/runtime/executor.h"
#include "amct/workflow/batch_progress.h"
#include "amct/workflow/run_usage.h"

namespace amct::workflow {

/// An activation tensor and how it is to be quantized. The same tensor may come with several
/// options; it is computed once.
struct ObservedTensor {
  std::string name;
  ActivationOptions options;
};

struct CollectOptions {
  /// Its `threads` also is the number of threads of the observers.
  runtime::ExecutorOptions executor;
  quant::ObserverLimits limits;
  /// Bins of the histograms for reports; 0: none.
  int histogram_bins = 0;
  BatchProgress progress;
};

struct TensorStatistics {
  ObservedTensor tensor;
  quant::ActivationResult result;
  quant::Histogram histogram;
};

struct CollectedStatistics {
  /// In the order of the wanted tensors.
  std::vector<TensorStatistics> tensors;
  std::size_t batches = 0;
  RunUsage usage;
};

/// Runs the first `batch_num` batches (0: all) through the model and finds the factors of the
/// wanted activations. Observers consume one batch while the engine runs the next; two batches are
/// in memory at most. Non-finite values are ignored with one warning that names tensors and counts.
/// Throws Error(kInvalidData) when there are fewer batches, and what the engine throws.
CollectedStatistics collect(const ir::Model& model, const std::vector<ObservedTensor>& wanted,
                            runtime::DataSource& data, std::size_t batch_num,
                            const CollectOptions& options = {});

}  // namespace amct::workflow
