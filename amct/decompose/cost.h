#pragma once

#include "amct/decompose/network.h"

namespace amct::decompose {

/// Multiplications and weights of a convolution as it is.
Cost cost_before(const Layer& layer);

/// Those of its two parts at a rank. The first part runs before the stride of the axis that it does
/// not handle has thinned the positions out.
Cost cost_after(const Layer& layer, Mode mode, std::int64_t rank);

}  // namespace amct::decompose
