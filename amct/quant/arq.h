#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "amct/base/quant_options.h"

namespace amct::quant {

/// Where the output channels of a weight stand in memory. The tensor, in C order, is seen as
/// [groups][before][channels][inner] and channel c of group g is output channel g * channels + c.
///   Conv [Cout, Cin/g, k...]:           {1, 1, Cout, Cin/g * k}
///   ConvTranspose [Cin, Cout/g, k...]:  {g, Cin/g, Cout/g, k}
///   MatMul [Cin, Cout]:                 {1, Cin, Cout, 1}
///   one factor for the whole tensor:    {1, 1, 1, all}
struct WeightLayout {
  std::size_t groups = 1;
  std::size_t before = 1;
  std::size_t channels = 1;
  std::size_t inner = 1;

  std::size_t output_channels() const { return groups * channels; }
  std::size_t elements() const { return groups * before * channels * inner; }
};

/// ARQ (spec 7.5, upstream_facts 3.3): the plain symmetric range of each output channel, one scale
/// per output channel. A channel of zeros, or one too small for the scale rule, gets scale 1.
/// num_bits 6, 7 or 8. Throws Error: kInvalidModel for a size that is not layout.elements() or a
/// value that is not finite, kUnsupported for a scale above kMaxScale, kInvalidConfig for num_bits.
std::vector<float> arq_scales(std::span<const float> weight, const WeightLayout& layout,
                              int num_bits);

/// The same with an offset (training only; deploy models keep weights symmetric).
std::vector<QuantFactor> arq_factors_with_offset(std::span<const float> weight,
                                                 const WeightLayout& layout, int num_bits);

/// clip(round_half_even(w / scale[c]), -2^(b-1), 2^(b-1) - 1) in the layout of the weight.
/// scales has layout.output_channels() entries; out has the weight's size.
void quantize_weight(std::span<const float> weight, const WeightLayout& layout,
                     std::span<const float> scales, int num_bits, std::span<std::int8_t> out);

/// quantize_weight() with factors that carry an offset.
void quantize_weight(std::span<const float> weight, const WeightLayout& layout,
                     std::span<const QuantFactor> factors, int num_bits,
                     std::span<std::int8_t> out);

}  // namespace amct::quant
