#include "amct/ir/tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "amct/base/assert.h"
#include "amct/base/error.h"

namespace amct::ir {
namespace {

struct TypeInfo {
  DataType type;
  const char* name;
  int bits;
};

constexpr TypeInfo kTypes[] = {
    {DataType::kUndefined, "undefined", 0},
    {DataType::kFloat, "float32", 32},
    {DataType::kUInt8, "uint8", 8},
    {DataType::kInt8, "int8", 8},
    {DataType::kUInt16, "uint16", 16},
    {DataType::kInt16, "int16", 16},
    {DataType::kInt32, "int32", 32},
    {DataType::kInt64, "int64", 64},
    {DataType::kString, "string", 0},
    {DataType::kBool, "bool", 8},
    {DataType::kFloat16, "float16", 16},
    {DataType::kDouble, "float64", 64},
    {DataType::kUInt32, "uint32", 32},
    {DataType::kUInt64, "uint64", 64},
    {DataType::kComplex64, "complex64", 64},
    {DataType::kComplex128, "complex128", 128},
    {DataType::kBFloat16, "bfloat16", 16},
    {DataType::kFloat8E4M3FN, "float8e4m3fn", 8},
    {DataType::kFloat8E4M3FNUZ, "float8e4m3fnuz", 8},
    {DataType::kFloat8E5M2, "float8e5m2", 8},
    {DataType::kFloat8E5M2FNUZ, "float8e5m2fnuz", 8},
    {DataType::kUInt4, "uint4", 4},
    {DataType::kInt4, "int4", 4},
    {DataType::kFloat4E2M1, "float4e2m1", 4},
    {DataType::kFloat8E8M0, "float8e8m0", 8},
    {DataType::kUInt2, "uint2", 2},
    {DataType::kInt2, "int2", 2},
};

std::uint64_t byte_count(DataType type, std::int64_t elements) {
  const auto bits = static_cast<std::uint64_t>(bit_width(type));
  return (static_cast<std::uint64_t>(elements) * bits + 7) / 8;
}

using Strings = std::vector<std::string>;

}  // namespace

std::string to_string(DataType type) {
  for (const TypeInfo& info : kTypes)
    if (info.type == type) return info.name;
  return fmt::format("type{}", static_cast<std::int32_t>(type));
}

std::optional<DataType> parse_data_type(std::string_view name) {
  if (name == "float") return DataType::kFloat;
  if (name == "double") return DataType::kDouble;
  if (name == "half") return DataType::kFloat16;
  for (const TypeInfo& info : kTypes)
    if (info.name == name && info.type != DataType::kUndefined) return info.type;
  return std::nullopt;
}

int bit_width(DataType type) {
  for (const TypeInfo& info : kTypes)
    if (info.type == type) return info.bits;
  return 0;
}

std::int64_t element_count(std::span<const std::int64_t> dims) {
  // Far below the limit so that byte counts of 128-bit elements fit too.
  constexpr std::int64_t kMaxElements = std::numeric_limits<std::int64_t>::max() / 256;
  std::int64_t count = 1;
  bool zero = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0)
      raise(ErrorCode::kInvalidModel, "tensor has the dimension {}; expected 0 or more", dim);
    if (dim == 0)
      zero = true;
    else if (count > kMaxElements / dim)
      raise(ErrorCode::kInvalidModel, "tensor dimensions are too large (more than 2^55 elements)");
    else
      count *= dim;
  }
  return zero ? 0 : count;
}

Tensor::Tensor(DataType type, std::vector<std::int64_t> dims, std::shared_ptr<const void> owner,
               std::span<const std::byte> bytes)
    : type_(type), dims_(std::move(dims)), owner_(std::move(owner)), bytes_(bytes) {
  const std::uint64_t expected = byte_count(type_, element_count(dims_));
  if (type_ != DataType::kString && bytes_.size() != expected)
    raise(ErrorCode::kInvalidModel,
          "tensor of type {} has {} bytes of data; its dimensions need {}", to_string(type_),
          bytes_.size(), expected);
}

Tensor Tensor::of_strings(std::vector<std::int64_t> dims, std::vector<std::string> values) {
  if (element_count(dims) != static_cast<std::int64_t>(values.size()))
    raise(ErrorCode::kInvalidModel, "string tensor has {} values; its dimensions need {}",
          values.size(), element_count(dims));
  auto owner = std::make_shared<Strings>(std::move(values));
  return Tensor(DataType::kString, std::move(dims), std::move(owner), {});
}

Tensor Tensor::zeros(DataType type, std::vector<std::int64_t> dims) {
  auto buffer = std::make_shared<std::vector<std::byte>>(byte_count(type, element_count(dims)));
  Tensor tensor(type, std::move(dims), buffer, *buffer);
  tensor.writable_ = true;
  return tensor;
}

const std::vector<std::string>& Tensor::strings() const {
  AMCT_ASSERT(type_ == DataType::kString);
  static const Strings kNone;
  return owner_ ? *static_cast<const Strings*>(owner_.get()) : kNone;
}

void Tensor::make_unique() {
  if (writable_ && owner_.use_count() == 1) return;
  auto buffer = std::make_shared<std::vector<std::byte>>(bytes_.begin(), bytes_.end());
  bytes_ = *buffer;
  owner_ = std::move(buffer);
  writable_ = true;
}

Tensor Tensor::reshaped(std::vector<std::int64_t> dims) const {
  AMCT_ASSERT(element_count(dims) == size());
  Tensor result = *this;
  result.dims_ = std::move(dims);
  return result;
}

bool Tensor::operator==(const Tensor& other) const {
  if (type_ != other.type_ || dims_ != other.dims_) return false;
  if (type_ == DataType::kString) return strings() == other.strings();
  return std::ranges::equal(bytes_, other.bytes_);
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {
    const float value =
        std::bit_cast<float>(0x38800000U) * (static_cast<float>(mantissa) / 1024.0F);
    return sign != 0 ? -value : value;
  }
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x38800000U) {
    // Adding 0.5 aligns the subnormal half's last place with the float's.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000U + 0xFFFU + odd) >> 13));
}

std::vector<float> to_float(const Tensor& tensor) {
  std::vector<float> result(static_cast<std::size_t>(tensor.size()));
  switch (tensor.type()) {
    case DataType::kFloat:
      std::ranges::copy(tensor.values<float>(), result.begin());
      break;
    case DataType::kDouble:
      std::ranges::transform(tensor.values<double>(), result.begin(),
                             [](double value) { return static_cast<float>(value); });
      break;
    case DataType::kFloat16:
      std::ranges::transform(tensor.values<std::uint16_t>(), result.begin(), half_to_float);
      break;
    case DataType::kBFloat16:
      std::ranges::transform(tensor.values<std::uint16_t>(), result.begin(), [](std::uint16_t v) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16);
      });
      break;
    default:
      raise(ErrorCode::kUnsupported, "a tensor of type {} cannot be read as floating point",
            to_string(tensor.type()));
  }
  return result;
}

namespace {
template <typename T>
std::vector<std::int64_t> widen(const Tensor& tensor) {
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(tensor.size()));
  for (const T value : tensor.values<T>()) result.push_back(static_cast<std::int64_t>(value));
  return result;
}
}  // namespace

std::vector<std::int64_t> to_int64(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::kInt64:
      return widen<std::int64_t>(tensor);
    case DataType::kInt32:
      return widen<std::int32_t>(tensor);
    case DataType::kInt16:
      return widen<std::int16_t>(tensor);
    case DataType::kInt8:
      return widen<std::int8_t>(tensor);
    case DataType::kUInt64:
      return widen<std::uint64_t>(tensor);
    case DataType::kUInt32:
      return widen<std::uint32_t>(tensor);
    case DataType::kUInt16:
      return widen<std::uint16_t>(tensor);
    case DataType::kUInt8:
    case DataType::kBool:
      return widen<std::uint8_t>(tensor);
    default:
      raise(ErrorCode::kUnsupported, "a tensor of type {} cannot be read as integers",
            to_string(tensor.type()));
  }
}

}  // namespace amct::ir
