#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "amct/decompose/network.h"
#include "amct/runtime/executor.h"

namespace amct::workflow {

struct DecomposeOnnxOptions {
  decompose::Options decompose;
  /// Shapes of inputs, "name:1,3,224,224;...", to count multiplications where the model leaves them
  /// open; may be empty.
  std::string input_shape;
  runtime::ExecutorOptions executor;
  bool dry_run = false;
  decompose::Progress progress;
};

/// Decomposes the convolutions of an ONNX model and writes "<save_path>_decomposed_model.onnx"
/// (nothing in a dry run). Multiplications are counted per image where ONNX Runtime can tell the
/// shapes, else per output position.
std::vector<decompose::LayerResult> decompose_onnx(const std::filesystem::path& model,
                                                   const std::string& save_path,
                                                   const DecomposeOnnxOptions& options);

}  // namespace amct::workflow
