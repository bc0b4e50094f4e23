#include "amct/formats/tensorflow/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace amct::tensorflow {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr std::size_t kWidth = 8;

using Table = std::array<std::uint32_t, 256>;

/// tables[k][b]: the CRC of byte b followed by k zero bytes.
constexpr std::array<Table, kWidth> make_tables() {
  std::array<Table, kWidth> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < kWidth; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[k][byte] = (tables[k - 1][byte] >> 8) ^ tables[0][tables[k - 1][byte] & 0xff];
  return tables;
}

constexpr std::array<Table, kWidth> kTables = make_tables();

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  const char* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kWidth; left -= kWidth, data += kWidth) {
    std::uint64_t word;
    std::memcpy(&word, data, kWidth);
    word ^= crc;
    crc = 0;
    for (std::size_t k = 0; k < kWidth; ++k)
      crc ^= kTables[kWidth - 1 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left > 0; --left, ++data)
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<unsigned char>(*data)) & 0xff];
  return ~crc;
}

}  // namespace amct::tensorflow
