#include "amct/formats/tensorflow/slice_copy.h"

#include <cstring>

namespace amct::tensorflow {

bool resolve_slice(std::span<const std::int64_t> whole, std::span<const SliceRange> slice,
                   std::vector<std::int64_t>& dims) {
  dims.clear();
  if (whole.size() != slice.size()) return false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const SliceRange& range = slice[i];
    const std::int64_t length = range.length < 0 ? whole[i] : range.length;
    const std::int64_t start = range.length < 0 ? 0 : range.start;
    if (start < 0 || start > whole[i] || length > whole[i] - start) return false;
    dims.push_back(length);
  }
  return true;
}

void copy_slice(std::span<const std::int64_t> whole, std::span<const SliceRange> slice,
                std::size_t element_bytes, std::string_view source, std::string& target) {
  if (source.empty()) return;
  const std::size_t rank = whole.size();
  // Rows run along the last axis; `index` counts over the other axes of the slice.
  std::vector<std::size_t> start(rank), length(rank), stride(rank), index(rank, 0);
  std::size_t step = element_bytes;
  for (std::size_t i = rank; i-- > 0;) {
    start[i] = slice[i].length < 0 ? 0 : static_cast<std::size_t>(slice[i].start);
    length[i] = static_cast<std::size_t>(slice[i].length < 0 ? whole[i] : slice[i].length);
    stride[i] = step;
    step *= static_cast<std::size_t>(whole[i]);
  }
  const std::size_t row = rank == 0 ? element_bytes : length[rank - 1] * element_bytes;
  for (std::size_t position = 0; position < source.size(); position += row) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < rank; ++i) offset += (start[i] + index[i]) * stride[i];
    std::memcpy(target.data() + offset, source.data() + position, row);
    for (std::size_t i = rank > 0 ? rank - 1 : 0; i-- > 0;) {
      if (++index[i] < length[i]) break;
      index[i] = 0;
    }
  }
}

}  // namespace amct::tensorflow
