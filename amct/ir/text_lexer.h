#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace amct::ir {

/// One token of the text form and where it stands.
struct Token {
  enum class Kind {
    kEnd,
    kWord,    // Conv, float32, com.microsoft, _
    kNumber,  // as written: -3, 1.5e-3, -inf, 0x1f
    kString,  // text holds the unescaped content
    kValue,   // %name
    kNode,    // @name
    kSymbol   // ( ) [ ] { } , : :: = -> ?
  };
  Kind kind = Kind::kEnd;
  std::string text;
  std::size_t offset = 0;
};

/// Splits a text into tokens; white space and comments (# to the end of the line) separate them.
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  /// Throws Error(kInvalidModel) on a character or string that is no token.
  Token next();
  /// Throws Error(kInvalidModel) "name:line:column: message".
  [[noreturn]] void fail(std::size_t offset, std::string_view message) const;

 private:
  void skip_space();
  std::string quoted();
  std::string run_of(bool (*accepts)(char));
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }

  std::string_view text_;
  std::string_view name_;
  std::size_t position_ = 0;
};

}  // namespace amct::ir
