#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace amct::tensorflow {

/// Numbers of TensorFlow's DataType that AMCT looks at; others are carried as numbers.
// clang-format off
enum DataType : std::int32_t {
  kFloat = 1, kDouble = 2, kInt32 = 3, kString = 7, kInt64 = 9, kBool = 10, kBFloat16 = 14,
  kHalf = 19, kResource = 20, kVariant = 21
};
// clang-format on

/// "float32", "int64", ...; "type <N>" for unknown numbers.
std::string data_type_name(std::int32_t type);
/// Bytes of one element in a checkpoint; empty for strings, variants and unknown types.
std::optional<std::uint64_t> element_bytes(std::int32_t type);

}  // namespace amct::tensorflow
