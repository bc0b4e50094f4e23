#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace amct::decompose {

/// How a kernel is split in two (upstream_facts 4.1, 4.2): which channel axis and which kernel axis
/// form the rows of the unfolded matrix.
enum class Mode { kUnchange = 0, kFcfk = 1, kFcsk = 2, kScfk = 3, kScsk = 4 };

/// "UNCHANGE", "FCFK", "FCSK", "SCFK", "SCSK".
const char* to_string(Mode mode);

/// True when the first of the two convolutions has the kernel's height, [r, Cin, KH, 1], and the
/// last its width, [Cout, r, 1, KW] (SCFK, FCSK); false when it is the other way round (SCSK,
/// FCFK).
bool first_has_height(Mode mode);

/// A 2-D convolution with weight [out_channels, in_channels / groups, kernel_h, kernel_w].
struct ConvShape {
  std::int64_t out_channels = 0;
  std::int64_t in_channels = 0;
  std::int64_t kernel_h = 0;
  std::int64_t kernel_w = 0;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t groups = 1;
};

struct Eligibility {
  Mode mode = Mode::kUnchange;
  std::string reason;  // why not; empty when mode is not kUnchange
};

/// The mode rule of upstream_facts 4.1.
Eligibility choose_mode(const ConvShape& shape);

}  // namespace amct::decompose
