#include "amct/formats/caffe/prototxt.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <utility>

#include "amct/base/error.h"
#include "amct/formats/caffe/prototxt_lexer.h"

namespace amct::caffe {
namespace {

/// protobuf's own limit.
constexpr int kMaxDepth = 100;
/// The tree takes some fifty times the size of its text; real definitions have less than 1 MB.
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

class Parser {
 public:
  explicit Parser(const Prototxt& file) : file_(file), lexer_(file.text()) { advance(); }

  std::vector<Field> parse_file() {
    std::vector<Field> fields;
    while (token_.kind != Token::Kind::kEnd) fields.push_back(parse_field(0));
    return fields;
  }

 private:
  [[noreturn]] void fail(const char* wanted) const {
    std::string found = "the end of the file";
    if (token_.kind != Token::Kind::kEnd) found = fmt::format("'{}'", shown(spelling(token_)));
    raise(ErrorCode::kInvalidModel, "{}: {}, expected {}", file_.where(token_.begin), found,
          wanted);
  }

  static std::string shown(std::string_view text) {
    constexpr std::size_t kLongest = 40;
    std::string result(text.substr(0, kLongest));
    for (char& c : result)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
    return text.size() > kLongest ? result + "..." : result;
  }

  std::string_view spelling(const Token& token) const {
    return std::string_view(file_.text()).substr(token.begin, token.end - token.begin);
  }

  void advance() {
    end_of_last_ = token_.end;
    token_ = lexer_.next();
    if (!lexer_.problem().empty())
      raise(ErrorCode::kInvalidModel, "{}: {}", file_.where(token_.begin), lexer_.problem());
  }

  bool at(char mark) const {
    return token_.kind == Token::Kind::kPunctuation && file_.text()[token_.begin] == mark;
  }

  bool take(char mark) {
    if (!at(mark)) return false;
    advance();
    return true;
  }

  Field parse_field(int depth) {
    Field field;
    field.begin = token_.begin;
    field.name = parse_name();
    const bool colon = take(':');
    if (take('[')) {
      field.list = true;
      while (!take(']')) {
        if (!field.values.empty() && !take(',')) fail("',' or ']'");
        field.values.push_back(parse_value(depth, true));
      }
    } else {
      field.values.push_back(parse_value(depth, colon));
    }
    if (!take(';')) take(',');
    field.end = end_of_last_;
    return field;
  }

  std::string parse_name() {
    const std::size_t begin = token_.begin;
    if (take('[')) {  // an extension, or the type of an Any
      while (!at(']')) {
        if (token_.kind != Token::Kind::kWord && !at('.') && !at('/') && !at('-')) fail("']'");
        advance();
      }
      advance();
    } else {
      if (token_.kind != Token::Kind::kWord) fail("a field name");
      advance();
    }
    return file_.text().substr(begin, end_of_last_ - begin);
  }

  Value parse_value(int depth, bool scalar_allowed) {
    Value value;
    value.begin = token_.begin;
    if (at('{') || at('<')) {
      parse_message(depth, value);
    } else if (!scalar_allowed) {
      fail("':' or '{'");
    } else if (token_.kind == Token::Kind::kString) {
      value.kind = Value::Kind::kString;
      for (; token_.kind == Token::Kind::kString; advance())
        value.text += unquote(spelling(token_));
    } else {
      if (take('-')) value.text = "-";
      if (token_.kind != Token::Kind::kWord) fail("a value");
      value.text += spelling(token_);
      advance();
    }
    value.end = end_of_last_;
    return value;
  }

  void parse_message(int depth, Value& value) {
    if (depth == kMaxDepth)
      raise(ErrorCode::kInvalidModel, "{}: messages are nested more than {} deep",
            file_.where(token_.begin), kMaxDepth);
    const char close = at('{') ? '}' : '>';
    value.kind = Value::Kind::kMessage;
    for (advance(); !at(close);) {
      if (token_.kind == Token::Kind::kEnd) {
        raise(ErrorCode::kInvalidModel, "{}: the '{}' of this message is missing",
              file_.where(value.begin), close);
      }
      value.fields.push_back(parse_field(depth + 1));
    }
    advance();
  }

  const Prototxt& file_;
  PrototxtLexer lexer_;
  Token token_;
  std::size_t end_of_last_ = 0;
};

[[noreturn]] void raise_wrong(const Prototxt& file, const Value& value, const char* wanted) {
  raise(ErrorCode::kInvalidModel, "{}: expected {}, found {}", file.where(value.begin), wanted,
        value.kind == Value::Kind::kMessage ? "a message"
                                            : fmt::format("'{}'", value.text.substr(0, 40)));
}

}  // namespace

Prototxt Prototxt::parse(std::string text, std::string name) {
  Prototxt file;
  file.text_ = std::move(text);
  file.name_ = std::move(name);
  if (file.text_.find('\0') != std::string::npos)
    raise(ErrorCode::kInvalidModel,
          "'{}' is a binary file, expected the text of a network definition (.prototxt)",
          file.name_);
  if (file.text_.size() > kMaxBytes)
    raise(ErrorCode::kInvalidModel, "'{}' has {} bytes; a network definition has at most {}",
          file.name_, file.text_.size(), kMaxBytes);
  file.fields_ = Parser(file).parse_file();
  return file;
}

std::string Prototxt::where(std::size_t offset) const {
  const std::string_view before = std::string_view(text_).substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", name_, std::count(before.begin(), before.end(), '\n') + 1,
                     offset - line_start + 1);
}

std::vector<const Value*> all(const std::vector<Field>& fields, std::string_view name) {
  std::vector<const Value*> values;
  for (const Field& field : fields)
    if (field.name == name)
      for (const Value& value : field.values) values.push_back(&value);
  return values;
}

const Value* find(const Prototxt& file, const std::vector<Field>& fields, std::string_view name) {
  const std::vector<const Value*> values = all(fields, name);
  if (values.size() > 1)
    raise(ErrorCode::kInvalidModel, "{}: '{}' is set a second time", file.where(values[1]->begin),
          name);
  return values.empty() ? nullptr : values.front();
}

const std::vector<Field>& as_message(const Prototxt& file, const Value& value) {
  if (value.kind != Value::Kind::kMessage) raise_wrong(file, value, "a message");
  return value.fields;
}

const std::string& as_string(const Prototxt& file, const Value& value) {
  if (value.kind != Value::Kind::kString) raise_wrong(file, value, "a quoted string");
  for (const char c : value.text)
    if (static_cast<unsigned char>(c) < 0x20)
      raise(ErrorCode::kInvalidModel, "{}: the name holds the control character {}",
            file.where(value.begin), static_cast<int>(c));
  return value.text;
}

std::uint32_t as_uint(const Prototxt& file, const Value& value) {
  const char* const begin = value.text.c_str();
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(begin, &end, 0);
  if (value.kind != Value::Kind::kScalar || *begin < '0' || *begin > '9' || *end != '\0' ||
      errno != 0 || number > std::numeric_limits<std::uint32_t>::max())
    raise_wrong(file, value, "a whole number from 0 to 4294967295");
  return static_cast<std::uint32_t>(number);
}

bool as_bool(const Prototxt& file, const Value& value) {
  if (value.kind == Value::Kind::kScalar) {
    for (const char* word : {"true", "True", "t", "1"})
      if (value.text == word) return true;
    for (const char* word : {"false", "False", "f", "0"})
      if (value.text == word) return false;
  }
  raise_wrong(file, value, "true or false");
}

}  // namespace amct::caffe
