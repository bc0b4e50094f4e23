#pragma once

#include <onnxruntime_c_api.h>

#include "amct/workflow/live_calibration.h"

namespace amct::ops {

/// The calibration operators are built for this version of ONNX Runtime's C interface, which every
/// later one has too.
constexpr std::uint32_t kApiVersion = 16;

/// One IFMR or HFMG node in a session: hands its input to the calibration of the process.
class CalibrationKernel {
 public:
  /// Reads the node's attributes. Throws Error that names what is missing or wrong.
  CalibrationKernel(const OrtApi& api, const OrtKernelInfo* info, bool ifmr);

  /// Output: [1], 0. Throws Error.
  void compute(OrtKernelContext* context) const;

 private:
  const OrtApi& api_;
  workflow::LiveTensor tensor_;
};

}  // namespace amct::ops
