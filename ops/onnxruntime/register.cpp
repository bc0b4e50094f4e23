#include <exception>
#include <memory>

#include "amct/passes/calibration_operators.h"
#include "ops/onnxruntime/calibration_kernel.h"

// The library of calibration operators. ONNX Runtime hands over its own interface, so that nothing
// of it is linked here and every version from 1.16 on will do.
namespace amct::ops {
namespace {

using MakeKernel = std::unique_ptr<Kernel> (*)(const OrtApi& api, const OrtKernelInfo* info);

/// An operator with float inputs and one float output.
struct Operator : OrtCustomOp {
  Operator(const char* op_name, std::size_t input_count, MakeKernel make_kernel)
      : OrtCustomOp{}, name(op_name), inputs(input_count), make(make_kernel) {
    version = kApiVersion;
    GetName = [](const OrtCustomOp* op) { return self(op).name; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputType = [](const OrtCustomOp*, std::size_t) {
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    };
    GetInputTypeCount = [](const OrtCustomOp* op) { return self(op).inputs; };
    GetOutputType = GetInputType;
    GetOutputTypeCount = [](const OrtCustomOp*) { return std::size_t{1}; };
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
    std::unique_ptr<Kernel> kernel;
  };

  static const Operator& self(const OrtCustomOp* op) { return *static_cast<const Operator*>(op); }

  static OrtStatus* create(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                           void** kernel) {
    try {
      *kernel = new Instance{*api, self(op).make(*api, info)};
      return nullptr;
    } catch (const std::exception& error) {
      return api->CreateStatus(ORT_INVALID_ARGUMENT, error.what());
    }
  }

  static OrtStatus* compute(void* kernel, OrtKernelContext* context) {
    const Instance& instance = *static_cast<const Instance*>(kernel);
    try {
      instance.kernel->compute(context);
      return nullptr;
    } catch (const std::exception& error) {
      return instance.api.CreateStatus(ORT_FAIL, error.what());
    }
  }

  const char* name;
  std::size_t inputs;
  MakeKernel make;
};

template <bool ifmr>
std::unique_ptr<Kernel> make_calibration(const OrtApi& api, const OrtKernelInfo* info) {
  return std::make_unique<CalibrationKernel>(api, info, ifmr);
}

std::unique_ptr<Kernel> make_comparison(const OrtApi& api, const OrtKernelInfo* info) {
  return std::make_unique<ComparisonKernel>(api, info);
}

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
  using amct::ops::Operator;
  static const Operator operators[] = {{"IFMR", 1, amct::ops::make_calibration<true>},
                                       {"HFMG", 1, amct::ops::make_calibration<false>},
                                       {"Compare", 2, amct::ops::make_comparison}};
  OrtCustomOpDomain* domain = nullptr;  // ONNX Runtime reads it as long as there are sessions
  if (OrtStatus* status = api->CreateCustomOpDomain(amct::passes::kCalibrationDomain, &domain))
    return status;
  for (const Operator& op : operators)
    if (OrtStatus* status = api->CustomOpDomain_Add(domain, &op)) return status;
  return api->AddCustomOpDomain(options, domain);
}
