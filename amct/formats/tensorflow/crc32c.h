#pragma once

#include <cstdint>
#include <string_view>

namespace amct::tensorflow {

/// CRC-32C (Castagnoli) of `bytes`, continued from `crc` (0 at the start).
std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);

/// The form in which checkpoints store a CRC: rotated, so that a CRC of stored CRCs stays sound.
constexpr std::uint32_t mask_crc(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace amct::tensorflow
