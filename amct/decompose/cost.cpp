#include "amct/decompose/cost.h"

#include <algorithm>

namespace amct::decompose {
namespace {

std::int64_t positions(const Layer& layer) {
  return std::max<std::int64_t>(1, layer.output_positions);
}

}  // namespace

Cost cost_before(const Layer& layer) {
  const ConvShape& s = layer.shape;
  const std::int64_t params = s.out_channels *
                              (s.in_channels / std::max<std::int64_t>(1, s.groups)) * s.kernel_h *
                              s.kernel_w;
  return {params * positions(layer), params};
}

Cost cost_after(const Layer& layer, Mode mode, std::int64_t rank) {
  const ConvShape& s = layer.shape;
  const bool height = first_has_height(mode);
  const std::int64_t first = rank * s.in_channels * (height ? s.kernel_h : s.kernel_w);
  const std::int64_t last = rank * s.out_channels * (height ? s.kernel_w : s.kernel_h);
  const std::int64_t other_stride = height ? s.stride_w : s.stride_h;
  return {(first * other_stride + last) * positions(layer), first + last};
}

}  // namespace amct::decompose
