#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "amct/report/run_report.h"

namespace amct::workflow {

/// Options of `amct onnx calibration` (spec onnx_and_cli 21); every path may be relative.
struct CalibrationOptions {
  std::filesystem::path model;
  /// Folder plus file name prefix of the results.
  std::string save_path;
  std::string input_shape;
  std::string data_dir;
  std::string data_types;
  /// Batches to run; excludes calibration_config. Without either: 1.
  std::optional<std::uint32_t> batch_num;
  std::filesystem::path calibration_config;
  /// Decide and explain, but run and write nothing.
  bool dry_run = false;
  /// Threads of the inference engine and of the observers; 0: all cores this process may use.
  int threads = 0;
  std::filesystem::path onnxruntime;
  std::vector<std::filesystem::path> custom_op_libraries;
  /// HTML report; empty: "<save_path>_report.html".
  std::filesystem::path report;
  /// Run the float and the quantized model side by side for the report's SQNR and cosine.
  bool compare = true;
  /// Keep "<random>_<timestamp>/" beside the results with the config, the record and the
  /// intermediate models.
  bool keep_temporary = false;
  /// For the report: how the program was called, and the warnings logged so far.
  std::string command_line;
  std::function<std::vector<std::string>()> warnings;
};

/// Called on the calling thread: `stage` is "calibrate" or "compare", `done` of `total` batches.
using ProgressCallback =
    std::function<void(const std::string& stage, std::size_t done, std::size_t total)>;

/// Quantizes an ONNX model: writes <save_path>_fake_quant_model.onnx, _deploy_model.onnx,
/// _quant.json, _record.txt and the report; all of them appear or none. Throws Error.
report::RunReport calibrate_model(const CalibrationOptions& options,
                                  const ProgressCallback& progress = {});

}  // namespace amct::workflow
