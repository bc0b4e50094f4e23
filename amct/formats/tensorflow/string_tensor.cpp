#include "amct/formats/tensorflow/string_tensor.h"

#include <cstring>
#include <limits>

#include "amct/formats/tensorflow/crc32c.h"

namespace amct::tensorflow {
namespace {

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

std::uint32_t extend_by_length(std::uint32_t crc, std::uint64_t length) {
  const std::size_t width = length <= std::numeric_limits<std::uint32_t>::max() ? 4 : 8;
  char plain[8];
  std::memcpy(plain, &length, sizeof plain);
  return crc32c({plain, width}, crc);
}

}  // namespace

std::optional<std::uint32_t> string_tensor_crc(std::string_view bytes,
                                               std::span<const std::int64_t> dims) {
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) {
    // Every text takes a byte at least.
    if (dim < 0 || (dim != 0 && count > bytes.size() / static_cast<std::uint64_t>(dim)))
      return std::nullopt;
    count *= static_cast<std::uint64_t>(dim);
  }
  std::uint32_t crc = 0;
  std::uint64_t text_bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = take_varint(bytes);
    if (!length || *length > bytes.size()) return std::nullopt;
    text_bytes += *length;
    crc = extend_by_length(crc, *length);
  }
  constexpr std::size_t kChecksum = sizeof(std::uint32_t);
  if (bytes.size() < kChecksum || bytes.size() - kChecksum != text_bytes) return std::nullopt;
  const std::uint32_t expected = mask_crc(crc);
  if (std::memcmp(bytes.data(), &expected, kChecksum) != 0) return std::nullopt;
  return crc32c(bytes, crc);
}

}  // namespace amct::tensorflow
