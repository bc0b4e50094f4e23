#include "amct/ir/text_lexer.h"

#include <algorithm>
#include <cctype>

#include "amct/base/error.h"
#include "amct/ir/text_elements.h"

namespace amct::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_name(char c) { return is_word(c) || c == '/'; }
bool is_number(char c) { return is_word(c) || c == '+' || c == '-'; }

}  // namespace

void Lexer::fail(std::size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  raise(ErrorCode::kInvalidModel, "{}:{}:{}: {}", name_, line, offset - line_start + 1, message);
}

void Lexer::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '#')
      position_ = std::min(text_.find('\n', position_), text_.size());
    else if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
      ++position_;
    else
      return;
  }
}

std::string Lexer::run_of(bool (*accepts)(char)) {
  const std::size_t start = position_;
  while (position_ < text_.size() && accepts(text_[position_])) ++position_;
  return std::string(text_.substr(start, position_ - start));
}

std::string Lexer::quoted() {
  const std::size_t start = position_++;
  std::string content;
  while (position_ < text_.size()) {
    const char c = text_[position_++];
    if (c == '"') return content;
    if (c == '\n') break;
    if (c != '\\') {
      content += c;
      continue;
    }
    const char escaped = peek();
    std::string byte;
    if (escaped == 'n')
      content += '\n';
    else if (escaped == '"' || escaped == '\\')
      content += escaped;
    else if (escaped == 'x' &&
             from_hex(text_.substr(std::min(position_ + 1, text_.size()), 2), byte) &&
             byte.size() == 1) {
      content += byte;
      position_ += 2;
    } else {
      fail(position_ - 1, "unknown escape in a string; expected \\\\, \\\", \\n or \\xHH");
    }
    ++position_;
  }
  fail(start, "a string that starts here has no closing quote on its line");
}

Token Lexer::next() {
  skip_space();
  Token token;
  token.offset = position_;
  if (position_ >= text_.size()) return token;
  const char c = peek();
  const bool signed_number = c == '-' && (is_digit(peek(1)) || peek(1) == '.' || peek(1) == 'i');
  if (c == '"') {
    token.kind = Token::Kind::kString;
    token.text = quoted();
  } else if (c == '%' || c == '@') {
    token.kind = c == '%' ? Token::Kind::kValue : Token::Kind::kNode;
    ++position_;
    token.text = peek() == '"' ? quoted() : run_of(is_name);
    if (token.text.empty()) fail(token.offset, "a name is missing behind the sign");
  } else if (is_digit(c) || signed_number) {
    token.kind = Token::Kind::kNumber;
    token.text = run_of(is_number);
  } else if (is_letter(c)) {
    token.kind = Token::Kind::kWord;
    token.text = run_of(is_word);
  } else {
    token.kind = Token::Kind::kSymbol;
    const std::string_view two = text_.substr(position_, 2);
    token.text = two == "->" || two == "::" ? std::string(two) : std::string(1, c);
    if (std::string_view("()[]{},:=?").find(c) == std::string_view::npos && two != "->")
      fail(position_, fmt::format("unexpected character '{}'", c));
    position_ += token.text.size();
  }
  return token;
}

}  // namespace amct::ir
