#include "amct/formats/caffe/prototxt_lexer.h"

#include <cstdint>

namespace amct::caffe {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int digit_value(char c, int base) {
  int value = 99;
  if (is_digit(c)) value = c - '0';
  if (c >= 'a' && c <= 'f') value = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') value = c - 'A' + 10;
  return value < base ? value : -1;
}

/// Reads up to `most` digits at `position`.
std::uint32_t read_digits(std::string_view text, std::size_t& position, int base, int most) {
  std::uint32_t value = 0;
  for (; most > 0 && position < text.size() && digit_value(text[position], base) >= 0; --most)
    value = value * static_cast<std::uint32_t>(base) +
            static_cast<std::uint32_t>(digit_value(text[position++], base));
  return value;
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | ((code >> 18) & 7U));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// Resolves the escape whose letter stands at `position`, which moves behind it.
void append_escape(std::string_view text, std::size_t& position, std::string& out) {
  const char letter = text[position++];
  constexpr std::string_view kLetters = "abfnrtv", kMeanings = "\a\b\f\n\r\t\v";
  if (const std::size_t i = kLetters.find(letter); i != std::string_view::npos) {
    out += kMeanings[i];
  } else if (letter == 'x' || letter == 'X') {
    out += static_cast<char>(read_digits(text, position, 16, 2));
  } else if (letter == 'u' || letter == 'U') {
    append_utf8(read_digits(text, position, 16, letter == 'u' ? 4 : 8), out);
  } else if (digit_value(letter, 8) >= 0) {
    out += static_cast<char>(read_digits(text, --position, 8, 3));
  } else {
    out += letter;
  }
}

}  // namespace

void PrototxtLexer::skip_blanks() {
  bool comment = false;
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '#') comment = true;
    if (c == '\n') comment = false;
    if (!comment && c != ' ' && (c < '\t' || c > '\r')) return;
  }
}

/// Names, and numbers with their point, exponent and suffix.
void PrototxtLexer::skip_word() {
  const std::size_t begin = position_;
  const bool number = !is_letter(text_[begin]);
  const bool hexadecimal =
      text_.substr(begin).starts_with("0x") || text_.substr(begin).starts_with("0X");
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    const char before = position_ > begin ? text_[position_ - 1] : ' ';
    const bool sign =
        number && !hexadecimal && (c == '+' || c == '-') && (before == 'e' || before == 'E');
    if (!is_letter(c) && !is_digit(c) && !(number && c == '.') && !sign) return;
  }
}

void PrototxtLexer::skip_string(char quote) {
  for (++position_; position_ < text_.size() && text_[position_] != '\n'; ++position_) {
    if (text_[position_] == quote) {
      ++position_;
      return;
    }
    if (text_[position_] == '\\' && position_ + 1 < text_.size() && text_[position_ + 1] != '\n')
      ++position_;
  }
  problem_ = "this string has no end on its line";
}

Token PrototxtLexer::next() {
  skip_blanks();
  Token token{Token::Kind::kEnd, position_, position_};
  if (position_ == text_.size()) return token;
  const char c = text_[position_];
  const bool point = c == '.' && position_ + 1 < text_.size() && is_digit(text_[position_ + 1]);
  if (is_letter(c) || is_digit(c) || point) {
    token.kind = Token::Kind::kWord;
    skip_word();
  } else if (c == '"' || c == '\'') {
    token.kind = Token::Kind::kString;
    skip_string(c);
  } else {
    token.kind = Token::Kind::kPunctuation;
    ++position_;
  }
  token.end = position_;
  return token;
}

std::string unquote(std::string_view quoted) {
  const std::string_view inner = quoted.substr(1, quoted.size() - 2);
  std::string out;
  out.reserve(inner.size());
  for (std::size_t i = 0; i < inner.size();) {
    const char c = inner[i++];
    if (c == '\\' && i < inner.size()) {
      append_escape(inner, i, out);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace amct::caffe
