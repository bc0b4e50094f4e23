#pragma once

#include <span>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Plans the requested layers and inputs; leaves the model as it is. Weights and biases are
/// quantized (ARQ; per tensor for Gemm and MatMul). A channel whose bias would overflow int32 gets
/// a larger weight scale; a channel without any weight gets the scale of its neighbours. Layers
/// whose numbers cannot be quantized (non-finite or huge weights, scales that the device cannot
/// hold) go to QuantPlan::skipped with the reason. Throws Error(kInvalidModel) when a requested
/// layer does not exist, Error(kUnsupported) when find_candidates() has a reason against it, and
/// Error(kInvalidConfig) when it is requested twice or with other than 8 or 16 activation bits.
QuantPlan make_plan(const ir::Model& model, std::span<const LayerRequest> layers,
                    std::span<const InputRequest> inputs = {});

/// Weight scales that ARQ finds for a layer of find_candidates(), before any of them is raised for
/// its bias; empty when the layer has no weight. Throws Error(kUnsupported) on non-finite weights.
std::vector<float> find_weight_scales(const ir::Model& model, const LayerRequest& request);

}  // namespace amct::passes
