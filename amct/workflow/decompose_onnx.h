#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "amct/decompose/network.h"
#include "amct/runtime/data_source.h"
#include "amct/runtime/executor.h"
#include "amct/workflow/batch_progress.h"

namespace amct::workflow {

struct DecomposeOnnxOptions {
  decompose::Options decompose;
  /// Calibration data; when there are any, factors are fitted to the outputs of the layers. Its
  /// input_shape also serves to count multiplications where the model leaves shapes open.
  runtime::DataOptions data;
  std::size_t batch_num = 0;  // 0: all
  runtime::ExecutorOptions executor;
  bool dry_run = false;
  decompose::Progress progress;
  BatchProgress batch_progress;
};

/// Decomposes the convolutions of an ONNX model and writes "<save_path>_decomposed_model.onnx"
/// (nothing in a dry run). Multiplications are counted per image where ONNX Runtime can tell the
/// shapes, else per output position.
std::vector<decompose::LayerResult> decompose_onnx(const std::filesystem::path& model,
                                                   const std::string& save_path,
                                                   const DecomposeOnnxOptions& options);

}  // namespace amct::workflow
