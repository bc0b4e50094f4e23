#include <exception>
#include <memory>

#include "amct/passes/calibration_operators.h"
#include "ops/onnxruntime/calibration_kernel.h"

// The library of calibration operators. ONNX Runtime hands over its own interface, so that nothing
// of it is linked here and every version from 1.16 on will do.
namespace amct::ops {
namespace {

/// An operator with one float input and one float output.
struct CalibrationOp : OrtCustomOp {
  explicit CalibrationOp(bool is_ifmr) : OrtCustomOp{}, ifmr(is_ifmr) {
    version = kApiVersion;
    GetName = [](const OrtCustomOp* op) { return self(op).ifmr ? "IFMR" : "HFMG"; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputType = [](const OrtCustomOp*, std::size_t) {
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    };
    GetInputTypeCount = [](const OrtCustomOp*) { return std::size_t{1}; };
    GetOutputType = GetInputType;
    GetOutputTypeCount = GetInputTypeCount;
    GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetOutputCharacteristic = GetInputCharacteristic;
    GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 0; };
    GetVariadicInputHomogeneity = GetVariadicInputMinArity;
    GetVariadicOutputMinArity = GetVariadicInputMinArity;
    GetVariadicOutputHomogeneity = GetVariadicInputMinArity;
    CreateKernelV2 = create;
    KernelComputeV2 = compute;
    KernelDestroy = [](void* kernel) { delete static_cast<Instance*>(kernel); };
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = GetStartVersion;
  }

  /// A kernel and the interface through which it reports failures.
  struct Instance {
    const OrtApi& api;
    CalibrationKernel kernel;
  };

  static const CalibrationOp& self(const OrtCustomOp* op) {
    return *static_cast<const CalibrationOp*>(op);
  }

  static OrtStatus* create(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                           void** kernel) {
    try {
      *kernel = new Instance{*api, CalibrationKernel(*api, info, self(op).ifmr)};
      return nullptr;
    } catch (const std::exception& error) {
      return api->CreateStatus(ORT_INVALID_ARGUMENT, error.what());
    }
  }

  static OrtStatus* compute(void* kernel, OrtKernelContext* context) {
    const Instance& instance = *static_cast<const Instance*>(kernel);
    try {
      instance.kernel.compute(context);
      return nullptr;
    } catch (const std::exception& error) {
      return instance.api.CreateStatus(ORT_FAIL, error.what());
    }
  }

  bool ifmr;
};

}  // namespace
}  // namespace amct::ops

/// What SessionOptions.register_custom_ops_library() calls.
extern "C" __attribute__((visibility("default"))) OrtStatus* RegisterCustomOps(
    OrtSessionOptions* options, const OrtApiBase* base) {
  const OrtApi* api = base->GetApi(amct::ops::kApiVersion);
  if (api == nullptr) {
    // Older than any that can be asked: the first version's interface can still say so.
    return base->GetApi(1)->CreateStatus(ORT_FAIL, "AMCT needs ONNX Runtime 1.16 or newer");
  }
  static const amct::ops::CalibrationOp ifmr(true);
  static const amct::ops::CalibrationOp hfmg(false);
  OrtCustomOpDomain* domain = nullptr;  // ONNX Runtime reads it as long as there are sessions
  if (OrtStatus* status = api->CreateCustomOpDomain(amct::passes::kCalibrationDomain, &domain))
    return status;
  for (const OrtCustomOp* op :
       {static_cast<const OrtCustomOp*>(&ifmr), static_cast<const OrtCustomOp*>(&hfmg)}) {
    if (OrtStatus* status = api->CustomOpDomain_Add(domain, op)) return status;
  }
  return api->AddCustomOpDomain(options, domain);
}
