#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amct::caffe {

struct Field;

/// One value of a field, at text[begin, end).
struct Value {
  enum class Kind { kScalar, kString, kMessage };
  Kind kind = Kind::kScalar;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;           // scalar: as written; string: with its escapes resolved
  std::vector<Field> fields;  // message
};

/// One field at text[begin, end), its separator (';' or ',') included. More than one value only
/// when it is written as a list: "name: [a, b]".
struct Field {
  std::string name;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool list = false;
  std::vector<Value> values;
};

/// A text protobuf as a tree that knows where each piece stands in the text. It needs no schema, so
/// custom layers, unknown fields, comments and layout survive: changes are made in the text
/// (TextEdit), and what they do not touch stays as its author wrote it.
class Prototxt {
 public:
  /// `name` stands for the file in messages. Throws Error(kInvalidModel) with line and column.
  static Prototxt parse(std::string text, std::string name);

  const std::string& text() const { return text_; }
  const std::string& name() const { return name_; }
  const std::vector<Field>& fields() const { return fields_; }

  /// "file:line:column" of an offset.
  std::string where(std::size_t offset) const;

 private:
  std::string text_;
  std::string name_;
  std::vector<Field> fields_;
};

/// All values of a repeated field, in order.
std::vector<const Value*> all(const std::vector<Field>& fields, std::string_view name);

/// The value of a singular field, or null. Throws Error(kInvalidModel) when it is set twice.
const Value* find(const Prototxt& file, const std::vector<Field>& fields, std::string_view name);

/// Typed reading; throws Error(kInvalidModel) that says where, what is there and what was wanted.
const std::vector<Field>& as_message(const Prototxt& file, const Value& value);
const std::string& as_string(const Prototxt& file, const Value& value);
std::uint32_t as_uint(const Prototxt& file, const Value& value);
bool as_bool(const Prototxt& file, const Value& value);

/// Replacements in the text of a Prototxt; they must not overlap.
class TextEdit {
 public:
  explicit TextEdit(const Prototxt& file) : file_(&file) {}

  void replace(std::size_t begin, std::size_t end, std::string text);
  /// Removes a field, with its whole line when nothing else stands there.
  void remove(const Field& field);
  /// Keeps only the first `count` values of a repeated field, however it is written.
  void truncate(const std::vector<Field>& fields, std::string_view name, std::size_t count);
  /// Replaces a field by others, "name: value" each, on lines of their own if it has its own.
  void replace(const Field& field, const std::vector<std::string>& others);

  /// text[begin, end) with the replacements inside it made.
  std::string apply(std::size_t begin, std::size_t end) const;

 private:
  struct Replacement {
    std::size_t begin, end;
    bool removal;
    std::string text;
  };
  std::vector<Replacement> sorted(std::size_t begin, std::size_t end) const;

  const Prototxt* file_;
  std::vector<Replacement> replacements_;
};

/// The blanks between the start of the line and `offset`; none when something else stands there.
std::optional<std::string_view> indentation(const Prototxt& file, std::size_t offset);

/// "text" with quotes and escapes.
std::string quote(std::string_view text);

}  // namespace amct::caffe
