#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "amct/ir/tensor.h"

namespace amct::ir {

/// How the elements of a type look in the text form.
enum class ElementForm { kFloating, kSigned, kUnsigned, kString, kHex };
ElementForm element_form(DataType type);

/// Shortest text that reads back to the same bits: "1.5", "-inf", "nan", "nan(0x7fc00001)". With
/// `typed`, never mistaken for an integer ("1.0").
std::string format_float(float value, bool typed);

/// "1, 2.5, ..." for a tensor whose form is floating, signed or unsigned.
std::string format_elements(const Tensor& tensor);

/// Lower-case hexadecimal digits of bytes, and back; false when the text has an odd length or other
/// characters.
std::string to_hex(std::string_view bytes);
bool from_hex(std::string_view digits, std::string& bytes);

/// Stores one element, written in the text form, at `place`. Returns null, or why it cannot be.
const char* store_element(DataType type, std::string_view text, std::byte* place);

/// Fills a tensor with values in [-1, 1) (floating types), small integers, or any bits (others);
/// the same seed gives the same data on every machine.
void fill_random(std::uint64_t seed, Tensor& tensor);

/// FNV-1a over a tensor's bytes.
std::uint64_t hash_of(const Tensor& tensor);

}  // namespace amct::ir
