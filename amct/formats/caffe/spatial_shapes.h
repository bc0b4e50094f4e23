#pragma once

#include <cstdint>
#include <vector>

#include "amct/formats/caffe/definition.h"

namespace amct::caffe {

/// For each layer the height times width of its first top; 0 where it cannot be told, as behind
/// layers of unknown types or inputs without a shape.
std::vector<std::int64_t> output_positions(const Definition& definition);

}  // namespace amct::caffe
