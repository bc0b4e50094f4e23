#include "amct/ir/text_elements.h"

#include <fmt/core.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>

namespace amct::ir {
namespace {

template <typename T>
struct BitsOf;
template <>
struct BitsOf<float> {
  using type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using type = std::uint64_t;
};

template <std::floating_point T>
std::string format_floating(T value) {
  using Bits = typename BitsOf<T>::type;
  if (!std::isnan(value)) return fmt::format("{}", value);
  const Bits bits = std::bit_cast<Bits>(value);
  if (bits == std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN())) return "nan";
  return fmt::format("nan(0x{:x})", bits);
}

/// float16 and bfloat16 print as the float that they stand for.
std::string format_half(std::uint16_t bits, bool brain) {
  const float value =
      brain ? std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16) : half_to_float(bits);
  return std::isnan(value) ? fmt::format("nan(0x{:x})", bits) : fmt::format("{}", value);
}

template <typename T, typename Format>
std::string join(const Tensor& tensor, const Format& format) {
  std::string text;
  for (const T& value : tensor.values<T>()) {
    if (!text.empty()) text += ", ";
    text += format(value);
  }
  return text;
}

template <typename T>
std::string join_numbers(const Tensor& tensor) {
  return join<T>(tensor, [](T value) { return fmt::format("{}", +value); });
}

constexpr const char* kNotANumber = "is not a number of this type";

/// Reads all of `text`.
template <typename T, typename... Base>
bool read_all(std::string_view text, T& value, Base... base) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc() && rest == end;
}

/// "nan(0x7e01)": the bits as they are.
template <typename Bits>
bool read_nan_bits(std::string_view text, Bits& bits) {
  if (!text.starts_with("nan(0x") || !text.ends_with(")")) return false;
  return read_all(text.substr(6, text.size() - 7), bits, 16);
}

template <typename T>
const char* store(T value, std::byte* place) {
  std::memcpy(place, &value, sizeof(T));
  return nullptr;
}

template <std::integral T>
const char* store_integer(std::string_view text, std::byte* place) {
  T value{};
  return read_all(text, value) ? store(value, place) : kNotANumber;
}

template <std::floating_point T>
const char* store_floating(std::string_view text, std::byte* place) {
  typename BitsOf<T>::type bits{};
  if (read_nan_bits(text, bits)) return store(bits, place);
  T value{};
  return read_all(text, value) ? store(value, place) : kNotANumber;
}

std::uint16_t round_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

const char* store_half(std::string_view text, bool brain, std::byte* place) {
  std::uint16_t bits{};
  if (read_nan_bits(text, bits)) return store(bits, place);
  float value{};
  if (!read_all(text, value)) return kNotANumber;
  return store(brain ? round_to_bfloat16(value) : float_to_half(value), place);
}

}  // namespace

ElementForm element_form(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return ElementForm::kFloating;
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
      return ElementForm::kSigned;
    case DataType::kBool:
    case DataType::kUInt8:
    case DataType::kUInt16:
    case DataType::kUInt32:
    case DataType::kUInt64:
      return ElementForm::kUnsigned;
    case DataType::kString:
      return ElementForm::kString;
    default:
      return ElementForm::kHex;
  }
}

std::string format_float(float value, bool typed) {
  std::string text = format_floating(value);
  if (typed && text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string format_elements(const Tensor& tensor) {
  switch (tensor.type()) {
    case DataType::kFloat:
      return join<float>(tensor, format_floating<float>);
    case DataType::kDouble:
      return join<double>(tensor, format_floating<double>);
    case DataType::kFloat16:
    case DataType::kBFloat16: {
      const bool brain = tensor.type() == DataType::kBFloat16;
      return join<std::uint16_t>(tensor,
                                 [brain](std::uint16_t bits) { return format_half(bits, brain); });
    }
    case DataType::kInt8:
      return join_numbers<std::int8_t>(tensor);
    case DataType::kInt16:
      return join_numbers<std::int16_t>(tensor);
    case DataType::kInt32:
      return join_numbers<std::int32_t>(tensor);
    case DataType::kInt64:
      return join_numbers<std::int64_t>(tensor);
    case DataType::kUInt16:
      return join_numbers<std::uint16_t>(tensor);
    case DataType::kUInt32:
      return join_numbers<std::uint32_t>(tensor);
    case DataType::kUInt64:
      return join_numbers<std::uint64_t>(tensor);
    default:
      return join_numbers<std::uint8_t>(tensor);
  }
}

const char* store_element(DataType type, std::string_view text, std::byte* place) {
  switch (type) {
    case DataType::kFloat:
      return store_floating<float>(text, place);
    case DataType::kDouble:
      return store_floating<double>(text, place);
    case DataType::kFloat16:
      return store_half(text, false, place);
    case DataType::kBFloat16:
      return store_half(text, true, place);
    case DataType::kInt8:
      return store_integer<std::int8_t>(text, place);
    case DataType::kInt16:
      return store_integer<std::int16_t>(text, place);
    case DataType::kInt32:
      return store_integer<std::int32_t>(text, place);
    case DataType::kInt64:
      return store_integer<std::int64_t>(text, place);
    case DataType::kBool:
    case DataType::kUInt8:
      return store_integer<std::uint8_t>(text, place);
    case DataType::kUInt16:
      return store_integer<std::uint16_t>(text, place);
    case DataType::kUInt32:
      return store_integer<std::uint32_t>(text, place);
    case DataType::kUInt64:
      return store_integer<std::uint64_t>(text, place);
    default:
      return "cannot be listed; this type needs hex\"...\"";
  }
}

std::string to_hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += kDigits[byte >> 4];
    digits += kDigits[byte & 15];
  }
  return digits;
}

bool from_hex(std::string_view digits, std::string& bytes) {
  if (digits.size() % 2 != 0) return false;
  bytes.resize(digits.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint8_t byte{};
    if (!read_all(digits.substr(2 * i, 2), byte, 16)) return false;
    bytes[i] = static_cast<char>(byte);
  }
  return true;
}

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

float next_uniform(std::uint64_t& state) {
  return static_cast<float>(next_random(state) >> 40) * 0x1.0p-23F - 1.0F;
}

}  // namespace

void fill_random(std::uint64_t seed, Tensor& tensor) {
  const auto fill = [&]<typename T>(const auto& make) {
    for (T& value : tensor.mutable_values<T>()) value = static_cast<T>(make());
  };
  const auto uniform = [&] { return next_uniform(seed); };
  const auto half = [&] { return float_to_half(next_uniform(seed)); };
  const auto brain = [&] { return round_to_bfloat16(next_uniform(seed)); };
  const auto small = [&] { return static_cast<int>(next_random(seed) >> 60) - 8; };
  const auto positive = [&] { return static_cast<int>(next_random(seed) >> 60); };
  switch (tensor.type()) {
    case DataType::kFloat:
    case DataType::kComplex64:
      fill.operator()<float>(uniform);
      break;
    case DataType::kDouble:
    case DataType::kComplex128:
      fill.operator()<double>(uniform);
      break;
    case DataType::kFloat16:
      fill.operator()<std::uint16_t>(half);
      break;
    case DataType::kBFloat16:
      fill.operator()<std::uint16_t>(brain);
      break;
    case DataType::kInt8:
      fill.operator()<std::int8_t>(small);
      break;
    case DataType::kInt16:
      fill.operator()<std::int16_t>(small);
      break;
    case DataType::kInt32:
      fill.operator()<std::int32_t>(small);
      break;
    case DataType::kInt64:
      fill.operator()<std::int64_t>(small);
      break;
    case DataType::kUInt16:
      fill.operator()<std::uint16_t>(positive);
      break;
    case DataType::kUInt32:
      fill.operator()<std::uint32_t>(positive);
      break;
    case DataType::kUInt64:
      fill.operator()<std::uint64_t>(positive);
      break;
    case DataType::kBool:
      fill.operator()<std::uint8_t>([&] { return next_random(seed) >> 63; });
      break;
    default:
      fill.operator()<std::uint8_t>(positive);
      break;
  }
}

std::uint64_t hash_of(const Tensor& tensor) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const std::byte byte : tensor.bytes())
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3U;
  return hash;
}

}  // namespace amct::ir
