#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/ir/text_lexer.h"

namespace amct::ir {

/// Reads the words, numbers, types and tensors of the text form. Every take_... throws
/// Error(kInvalidModel) with the place where it found something else.
class TextReader {
 public:
  TextReader(std::string_view text, std::string_view name) : lexer_(text, name) { advance(); }

  const Token& token() const { return token_; }
  void advance() { token_ = lexer_.next(); }

  /// At the present token.
  [[noreturn]] void fail(std::string_view message) const { fail(token_, message); }
  [[noreturn]] void fail(const Token& place, std::string_view message) const {
    lexer_.fail(place.offset, message);
  }
  [[noreturn]] void fail_expected(std::string_view what) const;

  bool is_word(std::string_view text) const;
  bool is_symbol(std::string_view text) const;
  bool accept_word(std::string_view text);
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);

  std::string take(Token::Kind kind, std::string_view what);
  std::string take_string();
  /// A word, or a string in its place.
  std::string take_word(std::string_view what);
  std::string take_hex();
  /// "" when the keyword is not there.
  std::string take_optional_hex(std::string_view keyword);

  bool at_number() const;
  /// A number as text: "3", "-1.5", "inf", "nan(0x7fc00001)".
  std::string take_number_text();
  std::int64_t take_integer();

  ValueType take_type();
  Tensor take_tensor();

  /// Items with commas between, up to and with `close`.
  template <typename Item>
  void list(std::string_view close, const Item& item) {
    if (accept(close)) return;
    do item();
    while (accept(","));
    expect(close);
  }

 private:
  std::uint64_t take_seed();
  DataType take_data_type();
  Dim take_dim();
  Tensor blank(DataType type, std::vector<std::int64_t> dims);
  Tensor generated(DataType type, std::vector<std::int64_t> dims);
  Tensor filled(DataType type, std::vector<std::int64_t> dims);
  Tensor listed(DataType type, std::vector<std::int64_t> dims);
  void take_element(DataType type, std::byte* place);

  Lexer lexer_;
  Token token_;
  std::uint64_t generated_bytes_ = 0;
};

}  // namespace amct::ir
