#pragma once

#include "amct/workflow/live_calibration.h"
#include "ops/onnxruntime/kernel_context.h"

namespace amct::ops {

/// One IFMR or HFMG node in a session: hands its input to the calibration of the process.
class CalibrationKernel : public Kernel {
 public:
  /// Reads the node's attributes. Throws Error that names what is missing or wrong.
  CalibrationKernel(const OrtApi& api, const OrtKernelInfo* info, bool ifmr);

  void compute(OrtKernelContext* context) const override;

 private:
  const OrtApi& api_;
  workflow::LiveTensor tensor_;
};

/// One Compare node: hands a layer's float and quantized results to the comparison of the process.
class ComparisonKernel : public Kernel {
 public:
  ComparisonKernel(const OrtApi& api, const OrtKernelInfo* info);

  void compute(OrtKernelContext* context) const override;

 private:
  const OrtApi& api_;
  std::string id_;
  std::string layer_;
};

}  // namespace amct::ops
