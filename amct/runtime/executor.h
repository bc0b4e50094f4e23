#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::runtime {

/// Name and type of a model input or output as the engine sees it.
struct PortInfo {
  std::string name;
  ir::ValueType type;
};

using Feed = std::vector<std::pair<std::string, ir::Tensor>>;

struct ExecutorOptions {
  /// Threads inside one run; 0: as many as cores this process may use.
  int threads = 0;
  /// 0: no graph optimisation (deploy models, exact comparison), 1: basic, 99: all.
  int optimization_level = 99;
  /// Shared libraries with the user's own operators.
  std::vector<std::filesystem::path> custom_op_libraries;
  /// Shared library of ONNX Runtime; empty: searched (AMCT_ONNXRUNTIME, Python environment,
  /// system).
  std::filesystem::path library;
};

/// Runs one model. Several threads may call run() at once.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual const std::vector<PortInfo>& inputs() const = 0;
  virtual const std::vector<PortInfo>& outputs() const = 0;
  /// Outputs in the order of outputs(). The tensors own engine memory without a copy and stay valid
  /// after later runs. Throws Error(kInvalidData) for feeds that do not fit inputs(), naming the
  /// input, its wanted and given type and shape, and Error(kRuntime) when the engine fails.
  virtual std::vector<ir::Tensor> run(const Feed& feed) = 0;
};

/// Executor over ONNX Runtime. `tapped` names further values of the main graph that become outputs
/// after the model's own (values that already are outputs are not repeated). The model's constants
/// are used in place: `model` must outlive the executor. Throws Error(kRuntime) when no usable
/// library is found, saying where was searched and how to install one.
std::unique_ptr<Executor> make_onnxruntime_executor(const ir::Model& model,
                                                    const ExecutorOptions& options,
                                                    const std::vector<std::string>& tapped = {});

/// Version of the ONNX Runtime library that would be used, e.g. "1.30.0", and its path.
std::pair<std::string, std::filesystem::path> onnxruntime_version(const ExecutorOptions& options);

}  // namespace amct::runtime
