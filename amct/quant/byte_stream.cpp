#include "amct/quant/byte_stream.h"

#include <cstring>
#include <utility>

#include "amct/base/error.h"

namespace amct::quant {

std::uint64_t byte_checksum(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const std::byte b : bytes)
    hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001B3U;
  return hash;
}

std::vector<std::byte> ByteWriter::take() && {
  put(byte_checksum(bytes_));
  return std::move(bytes_);
}

void ByteWriter::append(std::span<const std::byte> raw) {
  bytes_.insert(bytes_.end(), raw.begin(), raw.end());
}

void ByteReader::copy(void* to, std::size_t size) {
  if (size > bytes_.size()) short_of(size);
  if (size != 0) std::memcpy(to, bytes_.data(), size);
  bytes_ = bytes_.subspan(size);
}

void ByteReader::short_of(std::uint64_t wanted) const {
  raise(ErrorCode::kInvalidData, "cut short: {} bytes left, {} expected", bytes_.size(), wanted);
}

}  // namespace amct::quant
