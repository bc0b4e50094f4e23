#include "ops/onnxruntime/calibration_kernel.h"

#include <fmt/core.h>

#include <string>
#include <type_traits>

#include "amct/base/error.h"

namespace amct::ops {
namespace {

/// Throws what ONNX Runtime reports.
void check(const OrtApi& api, OrtStatus* status, const std::string& what) {
  if (status == nullptr) return;
  const std::string message = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  raise(ErrorCode::kRuntime, "{}: {}", what, message);
}

/// The attributes of a node.
class Attributes {
 public:
  Attributes(const OrtApi& api, const OrtKernelInfo* info) : api_(api), info_(info) {}

  [[nodiscard]] std::int64_t integer(const std::string& name) const {
    std::int64_t value = 0;
    check(api_, api_.KernelInfoGetAttribute_int64(info_, name.c_str(), &value), complaint(name));
    return value;
  }

  [[nodiscard]] std::size_t count(const std::string& name) const {
    const std::int64_t value = integer(name);
    if (value <= 0) raise(ErrorCode::kInvalidModel, "{}: found {}", complaint(name), value);
    return static_cast<std::size_t>(value);
  }

  [[nodiscard]] float real(const std::string& name) const {
    float value = 0;
    check(api_, api_.KernelInfoGetAttribute_float(info_, name.c_str(), &value), complaint(name));
    return value;
  }

  [[nodiscard]] std::string text(const std::string& name) const {
    std::size_t size = 0;
    check(api_, api_.KernelInfoGetAttribute_string(info_, name.c_str(), nullptr, &size),
          complaint(name));
    std::string value(size, '\0');  // the terminating null included
    check(api_, api_.KernelInfoGetAttribute_string(info_, name.c_str(), value.data(), &size),
          complaint(name));
    value.resize(size - 1);
    return value;
  }

 private:
  static std::string complaint(const std::string& name) {
    return fmt::format(
        "attribute '{}' of a calibration operator; write the model with "
        "quantize_model again",
        name);
  }

  const OrtApi& api_;
  const OrtKernelInfo* info_;
};

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
  const OrtValue* input = nullptr;
  check(api_, api_.KernelContext_GetInput(context, 0, &input), what);
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  check(api_, api_.GetTensorTypeAndShape(input, &shape), what);
  std::size_t size = 0;
  OrtStatus* status = api_.GetTensorShapeElementCount(shape, &size);
  api_.ReleaseTensorTypeAndShapeInfo(shape);
  check(api_, status, what);
  void* data = nullptr;
  check(api_, api_.GetTensorMutableData(const_cast<OrtValue*>(input), &data), what);
  workflow::observe_live(tensor_, {static_cast<const float*>(data), size});

  const std::int64_t one = 1;
  OrtValue* output = nullptr;
  check(api_, api_.KernelContext_GetOutput(context, 0, &one, 1, &output), what);
  check(api_, api_.GetTensorMutableData(output, &data), what);
  *static_cast<float*>(data) = 0;
}

}  // namespace amct::ops
