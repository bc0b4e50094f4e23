#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace amct::ir {

/// Element types; the numbers are those of ONNX TensorProto.DataType.
// clang-format off
enum class DataType : std::int32_t {
  kUndefined = 0, kFloat = 1, kUInt8 = 2, kInt8 = 3, kUInt16 = 4, kInt16 = 5, kInt32 = 6,
  kInt64 = 7, kString = 8, kBool = 9, kFloat16 = 10, kDouble = 11, kUInt32 = 12, kUInt64 = 13,
  kComplex64 = 14, kComplex128 = 15, kBFloat16 = 16, kFloat8E4M3FN = 17, kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19, kFloat8E5M2FNUZ = 20, kUInt4 = 21, kInt4 = 22, kFloat4E2M1 = 23,
  kFloat8E8M0 = 24, kUInt2 = 25, kInt2 = 26
};
// clang-format on

/// Lower-case name as users write it ("float32", "int8", ...); "type<N>" for unknown numbers.
std::string to_string(DataType type);
/// Inverse of to_string; also accepts "float", "double", "half". Empty when unknown.
std::optional<DataType> parse_data_type(std::string_view name);
/// Bits per element; 0 for kString, kUndefined and unknown types.
int bit_width(DataType type);

/// Compile-time element type -> DataType (float, double, integers, bool).
template <typename T>
constexpr DataType data_type_of();

/// Number of elements, 1 for a scalar. Throws Error(kInvalidModel) on negative dims or overflow.
std::int64_t element_count(std::span<const std::int64_t> dims);

/// A constant dense array: little-endian, row-major, contiguous; sub-byte types are packed low
/// nibble first. Copies share the buffer. Strings are kept in strings().
class Tensor {
 public:
  Tensor() = default;
  /// Takes bytes whose lifetime `owner` guarantees (a std::string, a mapped file, an ORT value).
  /// Throws Error(kInvalidModel) when the byte count does not fit dims and type.
  Tensor(DataType type, std::vector<std::int64_t> dims, std::shared_ptr<const void> owner,
         std::span<const std::byte> bytes);
  /// Copies values.
  template <typename T>
  static Tensor of(std::vector<std::int64_t> dims, std::span<const T> values);
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }
  static Tensor of_strings(std::vector<std::int64_t> dims, std::vector<std::string> values);
  /// New zero-filled tensor; fill it through mutable_values() before it is shared.
  static Tensor zeros(DataType type, std::vector<std::int64_t> dims);

  DataType type() const { return type_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  std::size_t rank() const { return dims_.size(); }
  std::int64_t size() const { return element_count(dims_); }
  bool empty() const { return size() == 0; }
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::vector<std::string>& strings() const;

  /// Elements as T; T must be the C++ type of type() (asserted).
  template <typename T>
  std::span<const T> values() const;
  /// Writable elements. Copies the buffer first when this tensor does not own it alone.
  template <typename T>
  std::span<T> mutable_values();

  /// The same buffer under other dims of equal element count (asserted).
  Tensor reshaped(std::vector<std::int64_t> dims) const;

  /// Same type, dims and bits.
  bool operator==(const Tensor& other) const;

 private:
  void make_unique();

  DataType type_ = DataType::kUndefined;
  std::vector<std::int64_t> dims_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  bool writable_ = false;
};

/// Values of a float16, bfloat16, float or double tensor as float. Throws Error(kUnsupported) else.
std::vector<float> to_float(const Tensor& tensor);
/// Values of any integer or bool tensor as int64. Throws Error(kUnsupported) for other types.
std::vector<std::int64_t> to_int64(const Tensor& tensor);

float half_to_float(std::uint16_t bits);
/// Round half to even; overflow becomes infinity.
std::uint16_t float_to_half(float value);

template <>
constexpr DataType data_type_of<float>() {
  return DataType::kFloat;
}
template <>
constexpr DataType data_type_of<double>() {
  return DataType::kDouble;
}
template <>
constexpr DataType data_type_of<std::uint8_t>() {
  return DataType::kUInt8;
}
template <>
constexpr DataType data_type_of<std::int8_t>() {
  return DataType::kInt8;
}
template <>
constexpr DataType data_type_of<std::uint16_t>() {
  return DataType::kUInt16;
}
template <>
constexpr DataType data_type_of<std::int16_t>() {
  return DataType::kInt16;
}
template <>
constexpr DataType data_type_of<std::uint32_t>() {
  return DataType::kUInt32;
}
template <>
constexpr DataType data_type_of<std::int32_t>() {
  return DataType::kInt32;
}
template <>
constexpr DataType data_type_of<std::uint64_t>() {
  return DataType::kUInt64;
}
template <>
constexpr DataType data_type_of<std::int64_t>() {
  return DataType::kInt64;
}
template <>
constexpr DataType data_type_of<bool>() {
  return DataType::kBool;
}

template <typename T>
Tensor Tensor::of(std::vector<std::int64_t> dims, std::span<const T> values) {
  auto buffer = std::make_shared<std::vector<std::byte>>(
      reinterpret_cast<const std::byte*>(values.data()),
      reinterpret_cast<const std::byte*>(values.data() + values.size()));
  Tensor tensor(data_type_of<T>(), std::move(dims), buffer, *buffer);
  tensor.writable_ = true;
  return tensor;
}

template <typename T>
std::span<const T> Tensor::values() const {
  return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
}

template <typename T>
std::span<T> Tensor::mutable_values() {
  make_unique();
  return {reinterpret_cast<T*>(const_cast<std::byte*>(bytes_.data())), bytes_.size() / sizeof(T)};
}

}  // namespace amct::ir
