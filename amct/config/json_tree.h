#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amct/config/violations.h"

namespace amct::config {

struct JsonMember;

/// One JSON value; an object keeps all members in file order, also those with the same key.
struct JsonValue {
  enum class Kind { kNull, kBool, kInteger, kReal, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0.0;
  std::string text;
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;
};

/// One member of an object.
struct JsonMember {
  std::string key;
  JsonValue value;
};

/// Reads JSON text. Throws Error(kInvalidConfig) with line and column for broken syntax, too deep
/// nesting and too many values.
JsonValue parse_json(std::string_view text, const std::string& file_name);

/// What kind of value it is, for messages: "a string".
std::string_view describe(const JsonValue& value);

/// Reads the members of one object by key, and adds what is wrong to the violations: duplicate
/// keys, wrong types, numbers out of range, and keys that nobody asked for. `value` and
/// `violations` must outlive it.
class ObjectReader {
 public:
  ObjectReader(const JsonValue& value, std::string path, Violations* violations);

  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The value of the key, or null; the key then counts as known.
  const JsonValue* take(std::string_view key);
  std::optional<bool> boolean(std::string_view key);
  std::optional<std::uint32_t> integer(std::string_view key, Option option);
  std::optional<float> real(std::string_view key, Option option);
  std::optional<std::string> string(std::string_view key);
  std::vector<std::string> strings(std::string_view key);
  /// Adds a violation if the key is absent.
  void require(std::string_view key);
  /// Adds a violation for each member that was not taken.
  void finish();

  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Violations& violations() const { return *violations_; }

 private:
  [[nodiscard]] const JsonValue* find(std::string_view key) const;
  const JsonValue* take(std::string_view key, JsonValue::Kind kind, std::string_view expected);

  const JsonValue& value_;
  std::string path_;
  Violations* violations_;
  std::vector<std::string> known_;
};

/// A number of the JSON config in single precision, checked against the option's range.
std::optional<float> real_of(const JsonValue& value, const std::string& path, Option option,
                             Violations* violations);

}  // namespace amct::config
