#include "ops/onnxruntime/calibration_kernel.h"

#include <fmt/core.h>

#include "amct/workflow/live_comparison.h"

namespace amct::ops {
namespace {

ActivationOptions read_options(const Attributes& attributes, bool ifmr) {
  ActivationOptions options;
  options.num_bits = static_cast<int>(attributes.integer("num_bits"));
  options.asymmetric = attributes.integer("with_offset") != 0;
  if (ifmr) {
    options.algorithm = IfmrOptions{
        attributes.real("max_percentile"), attributes.real("min_percentile"),
        attributes.real("start_ratio"), attributes.real("end_ratio"), attributes.real("step")};
  } else {
    options.algorithm = HfmgOptions{static_cast<std::uint32_t>(attributes.count("num_of_bins"))};
  }
  return options;
}

}  // namespace

CalibrationKernel::CalibrationKernel(const OrtApi& api, const OrtKernelInfo* info, bool ifmr)
    : api_(api) {
  const Attributes attributes(api, info);
  tensor_.record_file = attributes.text("record_file_path");
  tensor_.calibration_id = attributes.text("calibration_id");
  tensor_.operator_num = attributes.count("operator_num");
  tensor_.batch_num = attributes.count("batch_num");
  tensor_.options = read_options(attributes, ifmr);
  for (std::size_t i = 0, n = attributes.count("layer_num"); i < n; ++i)
    tensor_.layers.push_back(attributes.text(fmt::format("object_layer{}", i)));
}

void CalibrationKernel::compute(OrtKernelContext* context) const {
  const std::string what = fmt::format("layer '{}', calibration", tensor_.layers.front());
  workflow::observe_live(tensor_, read_input(api_, context, 0, what));
  write_nothing(api_, context, what);
}

ComparisonKernel::ComparisonKernel(const OrtApi& api, const OrtKernelInfo* info) : api_(api) {
  const Attributes attributes(api, info);
  id_ = attributes.text("comparison_id");
  layer_ = attributes.text("object_layer");
}

void ComparisonKernel::compute(OrtKernelContext* context) const {
  const std::string what = fmt::format("layer '{}', comparison", layer_);
  workflow::compare_live(id_, layer_, read_input(api_, context, 0, what),
                         read_input(api_, context, 1, what));
  write_nothing(api_, context, what);
}

}  // namespace amct::ops
