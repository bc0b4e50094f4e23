#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/runtime/data_source.h"
#include "amct/runtime/executor.h"
#include "amct/workflow/batch_progress.h"
#include "amct/workflow/run_usage.h"

namespace amct::workflow {

/// Reads a float, fake_quant or deploy model in a form that ONNX Runtime runs: deploy models are
/// lowered to integer ONNX operators. Throws Error.
ir::Model load_runnable(const std::filesystem::path& path);

/// Data for the model's inputs; throws Error(kInvalidData) when there are fewer than `batch_num`
/// batches (0: any number).
std::unique_ptr<runtime::DataSource> open_model_data(const runtime::DataOptions& options,
                                                     const ir::Model& model, std::size_t batch_num);

struct RunOptions {
  runtime::ExecutorOptions executor;
  /// Outputs are written to <folder>/<output name>/<batch, 5 digits>.npy; empty: nowhere.
  /// Characters that do not belong in file names become '_'.
  std::filesystem::path output_folder;
  /// Receives the outputs of each batch, in the order of `outputs`.
  std::function<void(std::size_t batch, const std::vector<runtime::PortInfo>& outputs,
                     const std::vector<ir::Tensor>& tensors)>
      on_outputs;
  BatchProgress progress;
};

struct RunResult {
  std::vector<runtime::PortInfo> outputs;
  std::size_t batches = 0;
  /// What was written, in order.
  std::vector<std::filesystem::path> files;
  RunUsage usage;
};

/// Runs the first `batch_num` batches (0: all). Throws Error(kInvalidData) when there are fewer.
RunResult run_model(const ir::Model& model, runtime::DataSource& data, std::size_t batch_num,
                    const RunOptions& options = {});

}  // namespace amct::workflow
