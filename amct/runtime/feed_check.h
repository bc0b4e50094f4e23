#pragma once

#include <string>
#include <vector>

#include "amct/runtime/executor.h"

namespace amct::runtime {

/// "float32[batch,3,224,224]"; unknown dims are "?", an unknown rank is "float32[...]".
std::string describe(const ir::ValueType& type);
std::string describe(const ir::Tensor& tensor);

/// Checks names, types, ranks and dims of a feed against the inputs, symbolic dims being equal
/// wherever the symbol stands. Returns one tensor per input, in the order of `inputs`. Throws
/// Error(kInvalidData) that names the input, what is wanted and what was given.
std::vector<const ir::Tensor*> match_feed(const std::vector<PortInfo>& inputs, const Feed& feed);

}  // namespace amct::runtime
