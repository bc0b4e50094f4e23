#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace amct::quant {

static_assert(std::endian::native == std::endian::little, "the state format is little endian");

/// FNV-1a over bytes: finds damage, not malice.
std::uint64_t byte_checksum(std::span<const std::byte> bytes);

/// Appends plain values to a byte vector.
class ByteWriter {
 public:
  template <typename T>
  void put(const T& value) {
    put_all(std::span<const T>(&value, 1));
  }
  template <typename T>
  void put_all(std::span<const T> values) {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);
    append(std::as_bytes(values));
  }
  /// The bytes with their checksum behind them.
  std::vector<std::byte> take() &&;

 private:
  void append(std::span<const std::byte> raw);

  std::vector<std::byte> bytes_;
};

/// Takes plain values off a byte span; throws Error (kInvalidData) when it is too short.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T get() {
    T value{};
    copy(&value, sizeof(T));
    return value;
  }
  template <typename T>
  std::vector<T> get_all(std::uint64_t count) {
    if (count > bytes_.size() / sizeof(T)) short_of(count * sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(count));
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  void copy(void* to, std::size_t size);
  [[noreturn]] void short_of(std::uint64_t wanted) const;

  std::span<const std::byte> bytes_;
};

}  // namespace amct::quant
