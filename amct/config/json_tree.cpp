#include "amct/config/json_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "amct/base/error.h"

namespace amct::config {
namespace {

using Kind = JsonValue::Kind;

// The deepest valid file has five levels.
constexpr std::size_t kMaxDepth = 16;
// A layer entry has about 15 values.
constexpr std::size_t kMaxValues = 1'000'000;

// nlohmann's event receiver; builds the tree. Open containers are always the last of their parent,
// so the pointers in the stack stay valid.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(JsonValue{}); }
  bool boolean(bool value) override {
    JsonValue node = of_kind(Kind::kBool);
    node.boolean = value;
    return add(std::move(node));
  }
  bool number_integer(number_integer_t value) override {
    return add_number(Kind::kInteger, static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return add_number(Kind::kInteger, static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add_number(Kind::kReal, value);
  }
  bool string(string_t& value) override {
    JsonValue node = of_kind(Kind::kString);
    node.text = std::move(value);
    return add(std::move(node));
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Kind::kObject); }
  bool start_array(std::size_t /*size*/) override { return open(Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    stack_.back()->members.push_back({std::move(value), JsonValue{}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    position_ = position;
    // The library's own position counts otherwise than ours; only its reason is used.
    const std::string_view what = error.what();
    const std::size_t reason = what.find(": ");
    problem_ = reason == std::string_view::npos ? what : what.substr(reason + 2);
    return false;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::optional<std::size_t> position() const { return position_; }
  JsonValue take() { return std::move(root_); }

 private:
  static JsonValue of_kind(Kind kind) {
    JsonValue node;
    node.kind = kind;
    return node;
  }
  bool add_number(Kind kind, double value) {
    JsonValue node = of_kind(kind);
    node.number = value;
    return add(std::move(node));
  }
  JsonValue* place(JsonValue value) {
    if (++count_ > kMaxValues) {
      problem_ = fmt::format("more than {} values", kMaxValues);
      return nullptr;
    }
    JsonValue* target = &root_;
    if (!stack_.empty()) {
      JsonValue& parent = *stack_.back();
      target =
          parent.kind == Kind::kArray ? &parent.items.emplace_back() : &parent.members.back().value;
    }
    *target = std::move(value);
    return target;
  }
  bool add(JsonValue value) { return place(std::move(value)) != nullptr; }
  bool open(Kind kind) {
    if (stack_.size() == kMaxDepth) {
      problem_ = fmt::format("nested deeper than {} levels", kMaxDepth);
      return false;
    }
    JsonValue* value = place(of_kind(kind));
    if (value != nullptr) stack_.push_back(value);
    return value != nullptr;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  JsonValue root_;
  std::vector<JsonValue*> stack_;
  std::size_t count_ = 0;
  std::string problem_;
  std::optional<std::size_t> position_;
};

std::string quoted_list(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

JsonValue parse_json(std::string_view text, const std::string& file_name) {
  TreeBuilder builder;
  if (nlohmann::json::sax_parse(text, &builder)) return builder.take();
  if (!builder.position()) {
    raise(ErrorCode::kInvalidConfig, "{}: the JSON is {}", file_name, builder.problem());
  }
  const std::size_t offset = *builder.position() == 0 ? 0 : *builder.position() - 1;
  raise(ErrorCode::kInvalidConfig, "{}:{}: not valid JSON: {}", file_name,
        line_and_column(text, offset), builder.problem());
}

std::string_view describe(const JsonValue& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "a boolean";
    case Kind::kInteger:
      return "an integer";
    case Kind::kReal:
      return "a real number";
    case Kind::kString:
      return "a string";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "an object";
  }
  return "an unknown value";
}

ObjectReader::ObjectReader(const JsonValue& value, std::string path, Violations* violations)
    : value_(value), path_(std::move(path)), violations_(violations) {
  if (value.kind != Kind::kObject) {
    violations_->add(path_, "found {}, expected an object", describe(value));
    return;
  }
  std::set<std::string_view> seen;
  std::set<std::string_view> reported;
  for (const auto& [key, member] : value.members) {
    if (!seen.insert(key).second && reported.insert(key).second) {
      violations_->add(path_of(key), "the key occurs more than once");
    }
  }
}

std::string ObjectReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const JsonValue* ObjectReader::find(std::string_view key) const {
  const auto found = std::find_if(value_.members.begin(), value_.members.end(),
                                  [&](const auto& member) { return member.key == key; });
  return found == value_.members.end() ? nullptr : &found->value;
}

const JsonValue* ObjectReader::take(std::string_view key) {
  known_.emplace_back(key);
  return find(key);
}

const JsonValue* ObjectReader::take(std::string_view key, Kind kind, std::string_view expected) {
  const JsonValue* value = take(key);
  if (value == nullptr || value->kind == kind) return value;
  violations_->add(path_of(key), "found {}, expected {}", describe(*value), expected);
  return nullptr;
}

std::optional<bool> ObjectReader::boolean(std::string_view key) {
  const JsonValue* value = take(key, Kind::kBool, "true or false");
  return value == nullptr ? std::nullopt : std::optional(value->boolean);
}

std::optional<std::uint32_t> ObjectReader::integer(std::string_view key, Option option) {
  const JsonValue* value = take(key, Kind::kInteger, "an integer");
  if (value == nullptr || !violations_->check(path_of(key), option, value->number)) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(value->number);
}

std::optional<float> ObjectReader::real(std::string_view key, Option option) {
  const JsonValue* value = take(key);
  return value == nullptr ? std::nullopt : real_of(*value, path_of(key), option, violations_);
}

std::optional<std::string> ObjectReader::string(std::string_view key) {
  const JsonValue* value = take(key, Kind::kString, "a string");
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

std::vector<std::string> ObjectReader::strings(std::string_view key) {
  std::vector<std::string> result;
  const JsonValue* value = take(key, Kind::kArray, "a list of strings");
  if (value == nullptr) return result;
  for (std::size_t i = 0; i < value->items.size(); ++i) {
    if (value->items[i].kind == Kind::kString) {
      result.push_back(value->items[i].text);
    } else {
      violations_->add(fmt::format("{}[{}]", path_of(key), i), "found {}, expected a string",
                       describe(value->items[i]));
    }
  }
  return result;
}

void ObjectReader::require(std::string_view key) {
  if (value_.kind == Kind::kObject && !has(key)) {
    violations_->add(path_of(key), "the key is missing");
  }
}

void ObjectReader::finish() {
  for (const auto& [key, member] : value_.members) {
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      violations_->add(path_of(key), "unknown key, expected {}", quoted_list(known_));
    }
  }
}

std::optional<float> real_of(const JsonValue& value, const std::string& path, Option option,
                             Violations* violations) {
  if (value.kind != Kind::kInteger && value.kind != Kind::kReal) {
    violations->add(path, "found {}, expected a number", describe(value));
    return std::nullopt;
  }
  if (!violations->check(path, option, value.number)) return std::nullopt;
  return static_cast<float>(value.number);
}

}  // namespace amct::config
