#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace amct::tensorflow {

/// CRC-32C (not masked) of a stored string tensor: over the lengths as plain integers, the stored
/// checksum of the lengths, and the texts. Empty when the bytes are no string tensor of these dims.
std::optional<std::uint32_t> string_tensor_crc(std::string_view bytes,
                                               std::span<const std::int64_t> dims);

}  // namespace amct::tensorflow
