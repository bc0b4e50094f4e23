#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "amct/runtime/onnxruntime/api.h"

namespace amct::runtime {

/// The loaded library. It stays loaded until the process ends.
struct OrtLibrary {
  std::filesystem::path path;
  std::string version;
  Ort::Env* env = nullptr;
};

/// Loads ONNX Runtime once per process and initialises its C++ API with the newest version that
/// both the headers and the library know (library >= 1.16). Search order: `wanted`, the variable
/// AMCT_ONNXRUNTIME (a file or a folder), the active Python environment, the system's loader path.
/// Throws Error(kRuntime) when none is usable, and when `wanted` is not the one already loaded.
const OrtLibrary& ort_library(const std::filesystem::path& wanted);

/// Shared libraries of ONNX Runtime in the active Python environment, best first: VIRTUAL_ENV,
/// CONDA_PREFIX, a folder .venv here or above, then the installation of the `python3` that PATH
/// finds. Nothing is executed.
std::vector<std::filesystem::path> python_libraries();

}  // namespace amct::runtime
