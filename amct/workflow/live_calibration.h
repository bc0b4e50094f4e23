#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "amct/base/quant_options.h"

namespace amct::workflow {

/// What a calibration operator knows of itself and of the calibration that it is part of.
struct LiveTensor {
  std::string record_file;
  std::string calibration_id;
  std::size_t operator_num = 1;  // operators of the calibration
  std::size_t batch_num = 1;
  std::vector<std::string> layers;  // that read the tensor; at least one
  ActivationOptions options;
};

/// Observes one batch inside the user's session. What was seen belongs to the process, not to the
/// session: it survives new sessions on the same model. When every operator has seen batch_num
/// batches, the factors are found and written to the record file; further batches are ignored.
/// Safe from any thread. Throws Error when the record file is not that of the calibration.
void observe_live(const LiveTensor& tensor, std::span<const float> batch);

/// Forgets what this process has seen for a record file.
void forget_live(const std::string& record_file);

struct UnfinishedCalibration {
  std::string record_file;
  std::size_t seen = 0;
  std::size_t batch_num = 0;
};

/// Calibrations of this process that have begun and not ended.
std::vector<UnfinishedCalibration> unfinished_calibrations();

}  // namespace amct::workflow
