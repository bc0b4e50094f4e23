#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "amct/ir/graph.h"
#include "amct/workflow/quant_request.h"
#include "amct/workflow/quantized_models.h"
#include "amct/workflow/record_state.h"
#include "amct/workflow/result_files.h"

namespace amct::workflow {

/// Where a calibration model came from; written into its metadata.
struct CalibrationOrigin {
  config::QuantConfig config;
  std::string original_model;  // absolute path
  std::string calibration_id;
};
void write_origin(ir::Model& model, const CalibrationOrigin& origin);

/// A network and the factors that its calibration found.
struct CalibratedModel {
  ir::Model prepared;
  CalibrationOrigin origin;
  QuantRequest request;
  std::optional<RecordState> state;  // first lines of the record file
};

/// Reads the calibration model and the record file that its runs have filled. Throws Error that
/// tells how many batches are missing when they have not.
CalibratedModel read_calibrated(const std::filesystem::path& modified_onnx_file,
                                const std::filesystem::path& record_file);

/// Adds the two models and the mapping of their nodes.
void add_quantized(ResultFiles& files, const CalibratedModel& model,
                   const QuantizedModels& quantized);

}  // namespace amct::workflow
