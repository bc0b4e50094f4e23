#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "amct/passes/quant_plan.h"

namespace amct::passes {

using ActivationFactors = std::map<std::string, QuantFactor>;
using WeightScales = std::map<std::string, std::vector<float>>;

/// Quantizes weights and biases of the requested layers; changes nothing in the model. `factors`
/// holds the activation factor of each layer by name, `given` weight scales from a record file
/// (one, or one per output channel); other layers get ARQ scales. Bias:
/// round_half_even(bias / (scale_d * scale_w)). A channel whose bias does not fit int32 gets a
/// larger weight scale and is listed in raised_channels; a channel of zeros takes the largest scale
/// of the layer's other channels. What cannot be quantized is in `skipped`, never an exception.
QuantPlan make_plan(const ir::Model& model, std::span<const LayerRequest> requests,
                    const ActivationFactors& factors, const WeightScales& given = {});

}  // namespace amct::passes
