#pragma once

#include <onnxruntime_c_api.h>

#include <cstdint>
#include <span>
#include <string>

namespace amct::ops {

/// The operators are built for this version of ONNX Runtime's C interface, which every later one
/// has too.
constexpr std::uint32_t kApiVersion = 16;

/// The attributes of a node. All throw Error(kRuntime | kInvalidModel) that names the attribute.
class Attributes {
 public:
  Attributes(const OrtApi& api, const OrtKernelInfo* info) : api_(api), info_(info) {}

  [[nodiscard]] std::int64_t integer(const std::string& name) const;
  [[nodiscard]] std::size_t count(const std::string& name) const;  // above 0
  [[nodiscard]] float real(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const;

 private:
  const OrtApi& api_;
  const OrtKernelInfo* info_;
};

/// Values of a float32 input. `what` begins the message of the Error(kRuntime) that it may throw.
std::span<const float> read_input(const OrtApi& api, OrtKernelContext* context, std::size_t index,
                                  const std::string& what);

/// Fills output 0, which nothing reads: [1], 0.
void write_nothing(const OrtApi& api, OrtKernelContext* context, const std::string& what);

/// What an operator does in a session.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  /// Throws Error.
  virtual void compute(OrtKernelContext* context) const = 0;
};

}  // namespace amct::ops
