#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace amct::tensorflow {

/// One dimension of a slice of a partitioned variable; length -1 stands for the whole dimension.
struct SliceRange {
  std::int64_t start = 0;
  std::int64_t length = -1;
  bool operator==(const SliceRange&) const = default;
};

/// Key of a slice in a checkpoint's index: tensor name and ranges, in TensorFlow's OrderedCode.
std::string slice_key(std::string_view tensor, std::span<const SliceRange> slice);

}  // namespace amct::tensorflow
