#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amct/formats/tensorflow/ordered_code.h"

namespace amct::tensorflow {

/// The dims of a slice of a tensor of `whole` dims; false when it does not lie within.
bool resolve_slice(std::span<const std::int64_t> whole, std::span<const SliceRange> slice,
                   std::vector<std::int64_t>& dims);

/// Copies the bytes of a slice (row-major, checked by resolve_slice) to its place in `target`.
void copy_slice(std::span<const std::int64_t> whole, std::span<const SliceRange> slice,
                std::size_t element_bytes, std::string_view source, std::string& target);

}  // namespace amct::tensorflow
