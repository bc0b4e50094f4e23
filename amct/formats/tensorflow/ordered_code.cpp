#include "amct/formats/tensorflow/ordered_code.h"

#include <bit>

namespace amct::tensorflow {
namespace {

int bits(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

/// Number of bytes, then the bytes, most significant first.
void append_unsigned(std::string& out, std::uint64_t value) {
  const int bytes = (bits(value) + 7) / 8;
  out += static_cast<char>(bytes);
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
}

/// Zero and 0xff bytes are escaped; "\0\1" ends the text.
void append_string(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xff';
    if (c == '\xff') out += '\0';
  }
  out += '\0';
  out += '\1';
}

/// n bytes hold 7n - 1 bits and a sign; the first bits tell n in unary, inverted below zero.
void append_signed(std::string& out, std::int64_t value) {
  const bool negative = value < 0;
  const std::uint64_t magnitude = static_cast<std::uint64_t>(negative ? ~value : value);
  int length = 1;
  while (length < 10 && bits(magnitude) > 7 * length - 1) ++length;
  // The code as 80 bits: high (16) and low (64), before the unary length is merged in.
  unsigned char code[10] = {};
  for (int i = 0; i < 10; ++i) {
    const int shift = 8 * (9 - i);
    code[i] = shift < 64 ? static_cast<unsigned char>(magnitude >> shift) : 0;
  }
  unsigned char* first = code + (10 - length);
  // `length` leading ones, then a zero.
  for (int bit = 0; bit < length; ++bit)
    first[bit / 8] = static_cast<unsigned char>(first[bit / 8] | (0x80 >> (bit % 8)));
  for (int i = 0; i < length; ++i)
    out += static_cast<char>(negative ? static_cast<unsigned char>(~first[i]) : first[i]);
}

}  // namespace

std::string slice_key(std::string_view tensor, std::span<const SliceRange> slice) {
  std::string key;
  append_unsigned(key, 0);
  append_string(key, tensor);
  append_unsigned(key, slice.size());
  for (const SliceRange& range : slice) {
    append_signed(key, range.start);
    append_signed(key, range.length);
  }
  return key;
}

}  // namespace amct::tensorflow
