#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace amct::caffe {

/// One token of a text protobuf, at text[begin, end).
struct Token {
  enum class Kind { kEnd, kWord, kString, kPunctuation };
  Kind kind = Kind::kEnd;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Splits a text protobuf into tokens: words (names and numbers), strings and single punctuation
/// marks. Blanks and comments are between them.
class PrototxtLexer {
 public:
  explicit PrototxtLexer(std::string_view text) : text_(text) {}

  /// The next token. `problem()` says what is wrong when a string does not end.
  Token next();
  const std::string& problem() const { return problem_; }

 private:
  void skip_blanks();
  void skip_word();
  void skip_string(char quote);

  std::string_view text_;
  std::size_t position_ = 0;
  std::string problem_;
};

/// What a quoted string stands for: without quotes, escapes resolved.
std::string unquote(std::string_view quoted);

}  // namespace amct::caffe
