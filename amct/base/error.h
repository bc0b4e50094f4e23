#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace amct {

/// Whose fault an Error is; the command line turns kUsage into exit code 2 and the rest into 1.
enum class ErrorCode {
  kUsage,          // the caller's options or arguments
  kInvalidModel,   // a model file or graph that breaks its format
  kInvalidConfig,  // a config or record file
  kInvalidData,    // calibration or evaluation data
  kUnsupported,    // valid, but outside what AMCT does
  kIo,             // reading or writing files
  kRuntime,        // the inference engine failed
  kInternal        // a broken promise between our own parts
};

/// The caller's or the world's fault. The message names the file, node or field, what was found,
/// what was wanted and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

/// Throws Error with a formatted message.
template <typename... Args>
[[noreturn]] void raise(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace amct
