#include "amct/ir/text_reader.h"

#include <charconv>
#include <utility>

#include "amct/base/error.h"
#include "amct/ir/text_elements.h"

namespace amct::ir {
namespace {

using Kind = Token::Kind;

/// Bytes of data that a text may ask for without spelling them out.
constexpr std::uint64_t kMaxGeneratedBytes = std::uint64_t{512} << 20;
/// Of complex128.
constexpr std::size_t kMaxElementBytes = 16;

template <typename T>
bool read_all(std::string_view text, T& value, int base = 10) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && rest == end;
}

Tensor from_bytes(DataType type, std::vector<std::int64_t> dims, std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const auto view = std::as_bytes(std::span(*owner));
  return Tensor(type, std::move(dims), std::move(owner), view);
}

}  // namespace

void TextReader::fail_expected(std::string_view what) const {
  if (token_.kind == Kind::kEnd) fail(fmt::format("expected {}, found the end", what));
  fail(fmt::format("expected {}, found '{}'", what, token_.text));
}

bool TextReader::is_word(std::string_view text) const {
  return token_.kind == Kind::kWord && token_.text == text;
}

bool TextReader::is_symbol(std::string_view text) const {
  return token_.kind == Kind::kSymbol && token_.text == text;
}

bool TextReader::accept_word(std::string_view text) {
  if (!is_word(text)) return false;
  advance();
  return true;
}

bool TextReader::accept(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  advance();
  return true;
}

void TextReader::expect(std::string_view symbol) {
  if (!accept(symbol)) fail_expected(fmt::format("'{}'", symbol));
}

std::string TextReader::take(Kind kind, std::string_view what) {
  if (token_.kind != kind) fail_expected(what);
  std::string text = std::move(token_.text);
  advance();
  return text;
}

std::string TextReader::take_string() { return take(Kind::kString, "a string in double quotes"); }

std::string TextReader::take_word(std::string_view what) {
  return take(token_.kind == Kind::kString ? Kind::kString : Kind::kWord, what);
}

std::string TextReader::take_hex() {
  if (!accept_word("hex")) fail_expected("hex\"...\"");
  const Token digits = token_;
  std::string bytes;
  if (!from_hex(take_string(), bytes)) fail(digits, "expected pairs of hexadecimal digits");
  return bytes;
}

std::string TextReader::take_optional_hex(std::string_view keyword) {
  return accept_word(keyword) ? take_hex() : std::string();
}

bool TextReader::at_number() const {
  return token_.kind == Kind::kNumber || is_word("nan") || is_word("inf");
}

std::string TextReader::take_number_text() {
  if (!at_number()) fail_expected("a number");
  std::string text = std::move(token_.text);
  advance();
  if (text != "nan" || !accept("(")) return text;
  text = fmt::format("nan({})", take(Kind::kNumber, "the bits of the NaN"));
  expect(")");
  return text;
}

std::int64_t TextReader::take_integer() {
  const Token place = token_;
  std::int64_t value = 0;
  if (!read_all(take(Kind::kNumber, "a whole number"), value))
    fail(place, fmt::format("'{}' is no whole number of 64 bits", place.text));
  return value;
}

std::uint64_t TextReader::take_seed() {
  expect("(");
  const Token place = token_;
  const std::string text = take(Kind::kNumber, "a seed");
  const bool base16 = text.starts_with("0x");
  std::uint64_t seed = 0;
  if (!read_all(std::string_view(text).substr(base16 ? 2 : 0), seed, base16 ? 16 : 10))
    fail(place, fmt::format("'{}' is no seed", text));
  expect(")");
  return seed;
}

DataType TextReader::take_data_type() {
  const Token place = token_;
  const std::string text = take(Kind::kWord, "an element type");
  if (const auto type = parse_data_type(text)) return *type;
  std::int32_t number = 0;
  if (text.starts_with("type") && read_all(std::string_view(text).substr(4), number))
    return static_cast<DataType>(number);
  fail(place, fmt::format("'{}' is no element type", text));
}

Dim TextReader::take_dim() {
  if (accept("?")) return {};
  if (token_.kind != Kind::kNumber) return {std::nullopt, take_word("a dimension")};
  const Token place = token_;
  const std::int64_t value = take_integer();
  if (value < 0) fail(place, "a dimension is 0 or more, or ? where unknown");
  return {value, {}};
}

ValueType TextReader::take_type() {
  ValueType type;
  if (!accept("?")) type.data_type = take_data_type();
  if (accept("[")) {
    type.shape.emplace();
    list("]", [&] { type.shape->push_back(take_dim()); });
  }
  type.opaque = take_optional_hex("opaque");
  return type;
}

Tensor TextReader::take_tensor() {
  const Token place = token_;
  const DataType type = take_data_type();
  std::vector<std::int64_t> dims;
  expect("[");
  list("]", [&] { dims.push_back(take_integer()); });
  try {
    element_count(dims);
  } catch (const Error& error) {
    fail(place, error.what());
  }
  if (accept_word("random") || accept_word("elided")) return generated(type, std::move(dims));
  if (accept_word("fill")) return filled(type, std::move(dims));
  return listed(type, std::move(dims));
}

Tensor TextReader::blank(DataType type, std::vector<std::int64_t> dims) {
  const auto bits = static_cast<std::uint64_t>(bit_width(type));
  if (bits == 0) fail(fmt::format("data of type {} must be listed", to_string(type)));
  // element_count stays far enough below 2^64 for this product.
  const std::uint64_t bytes = (static_cast<std::uint64_t>(element_count(dims)) * bits + 7) / 8;
  if (bytes > kMaxGeneratedBytes - generated_bytes_)
    fail("the text asks for too much generated data (512 MB at most)");
  generated_bytes_ += bytes;
  return Tensor::zeros(type, std::move(dims));
}

Tensor TextReader::generated(DataType type, std::vector<std::int64_t> dims) {
  const std::uint64_t seed = take_seed();
  Tensor tensor = blank(type, std::move(dims));
  fill_random(seed, tensor);
  return tensor;
}

Tensor TextReader::filled(DataType type, std::vector<std::int64_t> dims) {
  std::byte element[kMaxElementBytes] = {};
  expect("(");
  take_element(type, element);
  expect(")");
  Tensor tensor = blank(type, std::move(dims));
  const auto size = static_cast<std::size_t>(bit_width(type) / 8);
  const auto bytes = tensor.mutable_values<std::byte>();
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = element[i % size];
  return tensor;
}

void TextReader::take_element(DataType type, std::byte* target) {
  const Token place = token_;
  const std::string text = take_number_text();
  if (const char* problem = store_element(type, text, target))
    fail(place, fmt::format("'{}' {} ({})", text, problem, to_string(type)));
}

Tensor TextReader::listed(DataType type, std::vector<std::int64_t> dims) {
  const Token place = token_;
  std::string bytes;
  std::vector<std::string> strings;
  if (is_word("hex")) {
    bytes = take_hex();
  } else {
    expect("{");
    const auto size = static_cast<std::size_t>(bit_width(type) / 8);
    list("}", [&] {
      if (type == DataType::kString) {
        strings.push_back(take_string());
        return;
      }
      std::byte element[kMaxElementBytes] = {};
      take_element(type, element);
      bytes.append(reinterpret_cast<const char*>(element), size);
    });
  }
  try {
    if (type == DataType::kString) return Tensor::of_strings(std::move(dims), std::move(strings));
    return from_bytes(type, std::move(dims), std::move(bytes));
  } catch (const Error& error) {
    fail(place, error.what());
  }
}

}  // namespace amct::ir
