#include "amct/decompose/conv_shape.h"

#include <fmt/core.h>

#include <algorithm>

namespace amct::decompose {
namespace {

constexpr std::int64_t kMinKernel = 3;
constexpr std::int64_t kMaxStride = 2;
constexpr std::int64_t kMinRows = 16;      // of the unfolded kernel
constexpr std::int64_t kLargeKernel = 7;   // from here on few channels are enough
constexpr std::int64_t kMinChannels = 64;  // below that size

std::string refusal(const ConvShape& s) {
  const std::int64_t kernel = std::min(s.kernel_h, s.kernel_w);
  const std::int64_t channels = std::min(s.out_channels, s.in_channels);
  if (kernel <= 0 || channels <= 0) return "the kernel is empty";
  if (s.groups > 1) return fmt::format("it has {} groups; only 1 can be decomposed", s.groups);
  if (std::max(s.dilation_h, s.dilation_w) > 1) {
    return fmt::format("it is dilated ({} x {})", s.dilation_h, s.dilation_w);
  }
  if (kernel < kMinKernel) {
    return fmt::format("its kernel of {} x {} is too small; both sides need at least {}",
                       s.kernel_h, s.kernel_w, kMinKernel);
  }
  if (std::max(s.stride_h, s.stride_w) > kMaxStride) {
    return fmt::format("its stride of {} x {} is above {}", s.stride_h, s.stride_w, kMaxStride);
  }
  if (kernel < kLargeKernel && channels < kMinChannels) {
    return fmt::format(
        "{} -> {} channels are too few; kernels below {} x {} need at least {} of both",
        s.in_channels, s.out_channels, kLargeKernel, kLargeKernel, kMinChannels);
  }
  if (kernel * channels < kMinRows) {
    return fmt::format(
        "its kernel is too small: shorter side times fewer channels is {}, at least "
        "{} are needed",
        kernel * channels, kMinRows);
  }
  return {};
}

}  // namespace

const char* to_string(Mode mode) {
  switch (mode) {
    case Mode::kUnchange:
      return "UNCHANGE";
    case Mode::kFcfk:
      return "FCFK";
    case Mode::kFcsk:
      return "FCSK";
    case Mode::kScfk:
      return "SCFK";
    case Mode::kScsk:
      return "SCSK";
  }
  return "";
}

bool first_has_height(Mode mode) { return mode == Mode::kScfk || mode == Mode::kFcsk; }

Eligibility choose_mode(const ConvShape& shape) {
  std::string reason = refusal(shape);
  if (!reason.empty()) return {Mode::kUnchange, std::move(reason)};
  const bool first_kernel = shape.kernel_h <= shape.kernel_w;
  if (shape.out_channels < shape.in_channels) {
    return {first_kernel ? Mode::kFcfk : Mode::kFcsk, {}};
  }
  return {first_kernel ? Mode::kScfk : Mode::kScsk, {}};
}

}  // namespace amct::decompose
