#pragma once

#include <filesystem>
#include <string>

#include "amct/report/run_report.h"

namespace amct::workflow {

/// Arguments of convert_qat_model (spec onnx_and_cli 14, 15.6).
struct ConvertOptions {
  /// ONNX model with QuantizeLinear and DequantizeLinear.
  std::filesystem::path model;
  /// Folder plus file name prefix of the results.
  std::string save_path;
  /// Where the factors of all quantized layers go; empty: nowhere.
  std::filesystem::path record_file;
  /// Decide and explain, but write nothing.
  bool dry_run = false;
};

/// Turns a QDQ model into <save_path>_fake_quant_model.onnx, _deploy_model.onnx and _quant.json:
/// layers whose data and weight are quantized become integer layers, other pairs AscendQuant and
/// AscendAntiQuant. What does not fit stays as it is, named with the reason in the report and in
/// the log. Throws Error.
report::RunReport convert_qat_model(const ConvertOptions& options);

}  // namespace amct::workflow
