#pragma once

#include <string>
#include <vector>

#include "amct/runtime/executor.h"

namespace amct::runtime {

/// "float32[batch,3,224,224]"; unknown dims are "?", an unknown rank is "float32[...]".
std::string describe(const ir::ValueType& type);

/// Element type and dims of what is given to an input.
struct Shape {
  ir::DataType type;
  const std::vector<std::int64_t>* dims;
};
std::string describe(const Shape& shape);

/// Checks types, ranks and dims, one entry per input.
/// Throws Error(kInvalidData) that names the input, what is wanted and what was given.
void check_shapes(const std::vector<PortInfo>& inputs, const std::vector<Shape>& shapes);

/// Checks the names of a feed, then check_shapes(). Returns one tensor per input, in the order of
/// `inputs`.
std::vector<const ir::Tensor*> match_feed(const std::vector<PortInfo>& inputs, const Feed& feed);

}  // namespace amct::runtime
