#include "amct/quant/arq.h"

#include <algorithm>
#include <cmath>

#include "amct/base/assert.h"
#include "amct/base/error.h"
#include "amct/kernels/quantize.h"
#include "amct/kernels/range.h"
#include "amct/quant/factor.h"

namespace amct::quant {
namespace {

struct Range {
  float min = 0.0F;
  float max = 0.0F;
};

void check(std::span<const float> weight, const WeightLayout& layout, int num_bits) {
  if (num_bits < 6 || num_bits > 8) {
    raise(ErrorCode::kInvalidConfig, "num_bits of a weight is {}, expected 6, 7 or 8", num_bits);
  }
  if (weight.size() != layout.elements()) {
    raise(ErrorCode::kInvalidModel,
          "weight has {} values, expected {} (groups {} x before {} x channels {} x inner {})",
          weight.size(), layout.elements(), layout.groups, layout.before, layout.channels,
          layout.inner);
  }
  const auto range = kernels::finite_range(weight);
  if (range.finite != weight.size()) {
    raise(ErrorCode::kInvalidModel,
          "weight has {} NaN or infinite values among {}; repair the model or skip this layer",
          weight.size() - range.finite, weight.size());
  }
}

// Calls body(output channel, offset of a run) for each run of layout.inner values.
template <typename Body>
void for_each_run(const WeightLayout& layout, Body body) {
  std::size_t at = 0;
  for (std::size_t g = 0; g < layout.groups; ++g) {
    for (std::size_t b = 0; b < layout.before; ++b) {
      for (std::size_t c = 0; c < layout.channels; ++c, at += layout.inner) {
        body(g * layout.channels + c, at);
      }
    }
  }
}

std::vector<Range> channel_ranges(std::span<const float> weight, const WeightLayout& layout) {
  std::vector<Range> ranges(layout.output_channels());
  for_each_run(layout, [&](std::size_t channel, std::size_t at) {
    Range& r = ranges[channel];
    if (layout.inner == 1) {
      r.min = std::min(r.min, weight[at]);
      r.max = std::max(r.max, weight[at]);
      return;
    }
    const auto run = kernels::finite_range(weight.subspan(at, layout.inner));
    r.min = std::min(r.min, run.min);
    r.max = std::max(r.max, run.max);
  });
  return ranges;
}

std::vector<QuantFactor> factors(std::span<const float> weight, const WeightLayout& layout,
                                 int num_bits, bool asymmetric) {
  check(weight, layout, num_bits);
  std::vector<QuantFactor> result;
  result.reserve(layout.output_channels());
  for (const Range& r : channel_ranges(weight, layout)) {
    const QuantFactor factor = factor_of_range(r.min, r.max, num_bits, asymmetric);
    if (!is_legal(factor, num_bits)) {
      raise(ErrorCode::kUnsupported,
            "weight channel {} spans [{}, {}]: its scale {} is above the limit {} of the device; "
            "leave this layer in float",
            result.size(), r.min, r.max, factor.scale, kMaxScale);
    }
    result.push_back(factor);
  }
  return result;
}

std::int8_t quantize_one(float w, const kernels::IntegerGrid& grid) {
  const float level = std::nearbyint(w / grid.scale) + static_cast<float>(grid.offset);
  return static_cast<std::int8_t>(
      std::clamp(level, static_cast<float>(grid.q_min), static_cast<float>(grid.q_max)));
}

}  // namespace

std::vector<float> arq_scales(std::span<const float> weight, const WeightLayout& layout,
                              int num_bits) {
  std::vector<float> scales;
  scales.reserve(layout.output_channels());
  for (const QuantFactor& f : factors(weight, layout, num_bits, false)) scales.push_back(f.scale);
  return scales;
}

std::vector<QuantFactor> arq_factors_with_offset(std::span<const float> weight,
                                                 const WeightLayout& layout, int num_bits) {
  return factors(weight, layout, num_bits, true);
}

void quantize_weight(std::span<const float> weight, const WeightLayout& layout,
                     std::span<const float> scales, int num_bits, std::span<std::int8_t> out) {
  std::vector<QuantFactor> factors;
  factors.reserve(scales.size());
  for (const float scale : scales) factors.push_back({scale, 0});
  quantize_weight(weight, layout, factors, num_bits, out);
}

void quantize_weight(std::span<const float> weight, const WeightLayout& layout,
                     std::span<const QuantFactor> factors, int num_bits,
                     std::span<std::int8_t> out) {
  AMCT_ASSERT(weight.size() == layout.elements() && out.size() == weight.size());
  AMCT_ASSERT(factors.size() == layout.output_channels());
  for_each_run(layout, [&](std::size_t channel, std::size_t at) {
    if (layout.inner == 1) {  // [Cin, Cout]: neighbours have different factors
      out[at] = quantize_one(weight[at], integer_grid(factors[channel], num_bits));
      return;
    }
    kernels::quantize_f32_i8(weight.subspan(at, layout.inner),
                             integer_grid(factors[channel], num_bits),
                             out.subspan(at, layout.inner));
  });
}

}  // namespace amct::quant
