// Operator "Twice" of the domain "test.user": y = 2 x on float32.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace {

/// The oldest that the toolkit accepts, so that every library takes the operator.
constexpr std::uint32_t kApi = 16;

struct TwiceKernel {
  void Compute(OrtKernelContext* context) {
    Ort::KernelContext kernel(context);
    const Ort::ConstValue input = kernel.GetInput(0);
    const auto dims = input.GetTensorTypeAndShapeInfo().GetShape();
    const auto count = input.GetTensorTypeAndShapeInfo().GetElementCount();
    const auto* x = input.GetTensorData<float>();
    auto* y = kernel.GetOutput(0, dims).GetTensorMutableData<float>();
    std::transform(x, x + count, y, [](float value) { return 2.0F * value; });
  }
};

struct Twice : Ort::CustomOpBase<Twice, TwiceKernel> {
  Twice() { version = kApi; }
  void* CreateKernel(const OrtApi&, const OrtKernelInfo*) const {
    return std::make_unique<TwiceKernel>().release();
  }
  const char* GetName() const { return "Twice"; }
  std::size_t GetInputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetInputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) OrtStatus* ORT_API_CALL
RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  Ort::InitApi(base->GetApi(kApi));
  static const Twice twice;
  static const Ort::CustomOpDomain domain = [] {
    Ort::CustomOpDomain made("test.user");
    made.Add(&twice);
    return made;
  }();
  Ort::UnownedSessionOptions(options).Add(domain);
  return nullptr;
}
