#include "amct/runtime/executor.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/base/thread_pool.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/runtime/feed_check.h"
#include "amct/runtime/onnxruntime/library.h"

namespace amct::runtime {
namespace {

/// Constants above this are handed over in place; smaller ones stay in the serialized model, where
/// ONNX Runtime's shape inference reads them.
constexpr std::uint64_t kInPlaceBytes = 1024;

std::vector<std::byte>& nothing() {
  static std::vector<std::byte> byte(1);
  return byte;
}

Ort::MemoryInfo cpu_memory() {
  return Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
}

/// A view of the tensor's bytes as an engine value; strings are copied.
Ort::Value to_ort(const ir::Tensor& tensor, const Ort::MemoryInfo& memory) {
  const std::vector<std::int64_t>& dims = tensor.dims();
  if (tensor.type() == ir::DataType::kString) {
    Ort::AllocatorWithDefaultOptions allocator;
    Ort::Value value = Ort::Value::CreateTensor(allocator, dims.data(), dims.size(),
                                                ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING);
    std::vector<const char*> strings;
    for (const std::string& text : tensor.strings()) strings.push_back(text.c_str());
    if (!strings.empty()) value.FillStringTensor(strings.data(), strings.size());
    return value;
  }
  const std::span<const std::byte> bytes = tensor.bytes().empty() ? nothing() : tensor.bytes();
  return Ort::Value::CreateTensor(memory, const_cast<std::byte*>(bytes.data()),
                                  tensor.bytes().size(), dims.data(), dims.size(),
                                  static_cast<ONNXTensorElementDataType>(tensor.type()));
}

/// A tensor that owns the engine's value; undefined for values that are no tensor.
ir::Tensor from_ort(Ort::Value value) {
  if (!value || !value.IsTensor()) return {};
  const Ort::TensorTypeAndShapeInfo info = value.GetTensorTypeAndShapeInfo();
  std::vector<std::int64_t> dims = info.GetShape();
  const auto type = static_cast<ir::DataType>(info.GetElementType());
  const std::size_t count = info.GetElementCount();
  if (type == ir::DataType::kString) {
    std::vector<std::string> strings;
    for (std::size_t i = 0; i < count; ++i) strings.push_back(value.GetStringTensorElement(i));
    return ir::Tensor::of_strings(std::move(dims), std::move(strings));
  }
  const std::size_t size = (count * static_cast<std::size_t>(bit_width(type)) + 7) / 8;
  auto owner = std::make_shared<Ort::Value>(std::move(value));
  const auto* data = static_cast<const std::byte*>(owner->GetTensorRawData());
  return ir::Tensor(type, std::move(dims), std::move(owner), {data, size});
}

ir::ValueType type_of(const Ort::TypeInfo& info) {
  ir::ValueType type;
  if (info.GetONNXType() != ONNX_TYPE_TENSOR) {
    type.opaque = "not a tensor";
    return type;
  }
  const auto tensor = info.GetTensorTypeAndShapeInfo();
  type.data_type = static_cast<ir::DataType>(tensor.GetElementType());
  const std::vector<std::int64_t> dims = tensor.GetShape();
  std::vector<const char*> symbols(dims.size(), nullptr);
  if (!symbols.empty()) tensor.GetSymbolicDimensions(symbols.data(), symbols.size());
  type.shape.emplace();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    ir::Dim dim;
    if (dims[i] >= 0)
      dim.value = dims[i];
    else if (symbols[i] != nullptr)
      dim.symbol = symbols[i];
    type.shape->push_back(std::move(dim));
  }
  return type;
}

GraphOptimizationLevel ort_level(int level) {
  if (level <= 0) return ORT_DISABLE_ALL;
  if (level == 1) return ORT_ENABLE_BASIC;
  return level == 2 ? ORT_ENABLE_EXTENDED : ORT_ENABLE_ALL;
}

class OrtExecutor final : public Executor {
 public:
  OrtExecutor(const ir::Model& model, const ExecutorOptions& options,
              const std::vector<std::string>& tapped);

  const std::vector<PortInfo>& inputs() const override { return inputs_; }
  const std::vector<PortInfo>& outputs() const override { return outputs_; }
  std::vector<ir::Tensor> run(const Feed& feed) override;

 private:
  ir::Model with_taps(const ir::Model& model, const std::vector<std::string>& tapped);
  Ort::SessionOptions session_options(const ExecutorOptions& options, int level) const;
  void create_session(const onnx::Serialized& serialized, const ExecutorOptions& options);
  void read_ports(const ir::Graph& declared);

  const OrtLibrary& library_;
  Ort::MemoryInfo memory_{nullptr};
  /// Keeps the constants' buffers alive: copies of tensors share them.
  ir::Model model_;
  std::vector<Ort::Value> constants_;
  std::vector<std::string> constant_names_;
  Ort::Session session_{nullptr};
  std::vector<PortInfo> inputs_;
  std::vector<PortInfo> outputs_;
  /// Engine outputs; the graph inputs among the taps are answered from the feed instead.
  std::vector<const char*> engine_outputs_;
  std::vector<std::string> passed_through_;
};

ir::Model OrtExecutor::with_taps(const ir::Model& model, const std::vector<std::string>& tapped) {
  ir::Model copy = model.clone();
  for (const std::string& name : tapped) {
    ir::Value* value = copy.graph->find(name);
    if (value == nullptr)
      raise(ErrorCode::kInvalidModel, "the model has no tensor '{}' to observe", name);
    if (value->is_graph_output()) continue;
    if (value->is_graph_input() && value->constant() == nullptr) {
      if (std::ranges::find(passed_through_, name) == passed_through_.end())
        passed_through_.push_back(name);
    } else {
      copy.graph->add_output(value);
    }
  }
  return copy;
}

Ort::SessionOptions OrtExecutor::session_options(const ExecutorOptions& options, int level) const {
  Ort::SessionOptions session;
  session.SetIntraOpNumThreads(options.threads > 0 ? options.threads : available_cores());
  session.SetInterOpNumThreads(1);
  session.SetGraphOptimizationLevel(ort_level(level));
  // Idle engine threads that spin take the cores from the observers.
  session.AddConfigEntry("session.intra_op.allow_spinning", "0");
  for (const std::filesystem::path& library : options.custom_op_libraries) {
    try {
      // dlopen looks for a bare file name in the library path, not in the working directory.
      std::error_code failure;
      const bool here = std::filesystem::exists(library, failure);
      session.RegisterCustomOpsLibrary(
          (here ? std::filesystem::absolute(library) : library).c_str());
    } catch (const Ort::Exception& error) {
      raise(ErrorCode::kRuntime, "the operator library '{}' cannot be used: {}", library.string(),
            error.what());
    }
  }
  if (!constants_.empty()) session.AddExternalInitializers(constant_names_, constants_);
  return session;
}

void OrtExecutor::create_session(const onnx::Serialized& serialized,
                                 const ExecutorOptions& options) {
  const auto create = [&](int level) {
    return Ort::Session(*library_.env, serialized.bytes.data(), serialized.bytes.size(),
                        session_options(options, level));
  };
  std::string failure;
  try {
    session_ = create(options.optimization_level);
    return;
  } catch (const Ort::Exception& error) {
    failure = error.what();
  }
  const bool unknown_operator = failure.find("is not a registered") != std::string::npos;
  if (!unknown_operator && options.optimization_level > 0) {
    try {
      session_ = create(0);
      log_warning("ONNX Runtime {} cannot optimise the model and runs it as it is: {}",
                  library_.version, failure);
      return;
    } catch (const Ort::Exception& error) {
      log_debug("without optimisation it fails too: {}", error.what());  // the first tells more
    }
  }
  raise(ErrorCode::kRuntime, "ONNX Runtime {} cannot load the model: {}{}", library_.version,
        failure,
        unknown_operator ? "; give the shared library that holds this operator "
                           "(--custom_op_library)"
                         : "");
}

void OrtExecutor::read_ports(const ir::Graph& declared) {
  Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session_.GetInputCount(); ++i) {
    PortInfo port{session_.GetInputNameAllocated(i, allocator).get(),
                  type_of(session_.GetInputTypeInfo(i))};
    const ir::Value* value = declared.find(port.name);
    // The engine reports an unknown rank as rank 0.
    if (value != nullptr && !value->type.shape) port.type.shape.reset();
    inputs_.push_back(std::move(port));
  }
  for (std::size_t i = 0; i < session_.GetOutputCount(); ++i)
    outputs_.push_back({session_.GetOutputNameAllocated(i, allocator).get(),
                        type_of(session_.GetOutputTypeInfo(i))});
  const std::size_t engine_count = outputs_.size();
  for (const std::string& name : passed_through_) {
    const auto input = std::ranges::find(inputs_, name, &PortInfo::name);
    outputs_.push_back({name, input->type});
  }
  for (std::size_t i = 0; i < engine_count; ++i)
    engine_outputs_.push_back(outputs_[i].name.c_str());
}

OrtExecutor::OrtExecutor(const ir::Model& model, const ExecutorOptions& options,
                         const std::vector<std::string>& tapped)
    : library_(ort_library(options.library)), memory_(cpu_memory()) {
  model_ = with_taps(model, tapped);
  const onnx::Serialized serialized = onnx::serialize(model_, kInPlaceBytes, "memory");
  for (const ir::Value* value : serialized.external) {
    constant_names_.push_back(value->name());
    constants_.push_back(to_ort(*value->constant(), memory_));
  }
  create_session(serialized, options);
  read_ports(*model_.graph);
}

std::vector<ir::Tensor> OrtExecutor::run(const Feed& feed) {
  const std::vector<const ir::Tensor*> tensors = match_feed(inputs_, feed);
  std::vector<Ort::Value> results;
  try {
    std::vector<const char*> names;
    std::vector<Ort::Value> values;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      names.push_back(inputs_[i].name.c_str());
      values.push_back(to_ort(*tensors[i], memory_));
    }
    results = session_.Run(Ort::RunOptions{nullptr}, names.data(), values.data(), values.size(),
                           engine_outputs_.data(), engine_outputs_.size());
  } catch (const Ort::Exception& error) {
    raise(ErrorCode::kRuntime, "ONNX Runtime {} failed to run the model: {}", library_.version,
          error.what());
  }
  std::vector<ir::Tensor> outputs;
  outputs.reserve(outputs_.size());
  for (Ort::Value& result : results) outputs.push_back(from_ort(std::move(result)));
  for (const std::string& name : passed_through_) {
    const auto input = std::ranges::find(inputs_, name, &PortInfo::name);
    outputs.push_back(*tensors[static_cast<std::size_t>(input - inputs_.begin())]);
  }
  return outputs;
}

}  // namespace

std::unique_ptr<Executor> make_onnxruntime_executor(const ir::Model& model,
                                                    const ExecutorOptions& options,
                                                    const std::vector<std::string>& tapped) {
  try {
    return std::make_unique<OrtExecutor>(model, options, tapped);
  } catch (const Ort::Exception& error) {
    raise(ErrorCode::kRuntime, "ONNX Runtime cannot take the model: {}", error.what());
  }
}

std::pair<std::string, std::filesystem::path> onnxruntime_version(const ExecutorOptions& options) {
  const OrtLibrary& library = ort_library(options.library);
  return {library.version, library.path};
}

}  // namespace amct::runtime
