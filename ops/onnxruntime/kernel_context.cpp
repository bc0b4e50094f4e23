#include "ops/onnxruntime/kernel_context.h"

#include <fmt/core.h>

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

std::string complaint(const std::string& name) {
  return fmt::format("attribute '{}' of a calibration operator; write the model again", name);
}

}  // namespace

std::int64_t Attributes::integer(const std::string& name) const {
  std::int64_t value = 0;
  check(api_, api_.KernelInfoGetAttribute_int64(info_, name.c_str(), &value), complaint(name));
  return value;
}

std::size_t Attributes::count(const std::string& name) const {
  const std::int64_t value = integer(name);
  if (value <= 0) raise(ErrorCode::kInvalidModel, "{}: found {}", complaint(name), value);
  return static_cast<std::size_t>(value);
}

float Attributes::real(const std::string& name) const {
  float value = 0;
  check(api_, api_.KernelInfoGetAttribute_float(info_, name.c_str(), &value), complaint(name));
  return value;
}

std::string Attributes::text(const std::string& name) const {
  std::size_t size = 0;
  check(api_, api_.KernelInfoGetAttribute_string(info_, name.c_str(), nullptr, &size),
        complaint(name));
  std::string value(size, '\0');  // the terminating null included
  check(api_, api_.KernelInfoGetAttribute_string(info_, name.c_str(), value.data(), &size),
        complaint(name));
  value.resize(size - 1);
  return value;
}

std::span<const float> read_input(const OrtApi& api, OrtKernelContext* context, std::size_t index,
                                  const std::string& what) {
  const OrtValue* input = nullptr;
  check(api, api.KernelContext_GetInput(context, index, &input), what);
  OrtTensorTypeAndShapeInfo* shape = nullptr;
  check(api, api.GetTensorTypeAndShape(input, &shape), what);
  std::size_t size = 0;
  OrtStatus* status = api.GetTensorShapeElementCount(shape, &size);
  api.ReleaseTensorTypeAndShapeInfo(shape);
  check(api, status, what);
  void* data = nullptr;
  check(api, api.GetTensorMutableData(const_cast<OrtValue*>(input), &data), what);
  return {static_cast<const float*>(data), size};
}

void write_nothing(const OrtApi& api, OrtKernelContext* context, const std::string& what) {
  const std::int64_t one = 1;
  OrtValue* output = nullptr;
  check(api, api.KernelContext_GetOutput(context, 0, &one, 1, &output), what);
  void* data = nullptr;
  check(api, api.GetTensorMutableData(output, &data), what);
  *static_cast<float*>(data) = 0;
}

}  // namespace amct::ops
