#include "amct/formats/tensorflow/node_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "amct/formats/tensorflow/data_type.h"

namespace amct::tensorflow {
namespace {

/// Saver and concat constants are small; larger ones in a hostile file are not expanded.
constexpr std::int64_t kMaxConstantElements = 1 << 20;

std::optional<std::int64_t> constant_count(const schema::Tensor& tensor) {
  std::int64_t count = 1;
  for (const schema::Dim& dim : tensor.tensor_shape().dim()) {
    if (dim.size() < 0 || dim.size() > kMaxConstantElements) return std::nullopt;
    count *= dim.size();
    if (count > kMaxConstantElements) return std::nullopt;
  }
  return count;
}

const schema::Tensor* constant_tensor(const schema::Node& node) {
  if (node.op() != "Const") return nullptr;
  const schema::AttrValue* value = find_attr(node, "value");
  return value != nullptr && value->has_tensor() ? &value->tensor() : nullptr;
}

template <typename T>
std::vector<std::int64_t> unpack(const std::string& bytes) {
  std::vector<std::int64_t> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<std::int64_t>(value);
  }
  return values;
}

template <typename Values, typename List>
bool repeat_last(const List& list, std::int64_t count, Values& values) {
  if (list.size() > count || (list.empty() && count > 0)) return false;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(list.Get(static_cast<int>(std::min<std::int64_t>(i, list.size() - 1))));
  return true;
}

}  // namespace

InputRef parse_input(std::string_view text) {
  if (text.starts_with('^')) return {std::string(text.substr(1)), -1, true};
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return {std::string(text), 0, false};
  int port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end || port < 0) return {std::string(text), 0, false};
  return {std::string(text.substr(0, colon)), port, false};
}

std::string tensor_name(std::string_view node, int port) {
  return port == 0 ? std::string(node) : fmt::format("{}:{}", node, port);
}

int data_input_count(const schema::Node& node) {
  int count = 0;
  while (count < node.input_size() && !node.input(count).starts_with('^')) ++count;
  return count;
}

const schema::AttrValue* find_attr(const schema::Node& node, std::string_view key) {
  for (const schema::Attr& attr : node.attr())
    if (attr.key() == key) return &attr.value();
  return nullptr;
}

schema::AttrValue& set_attr(schema::Node& node, std::string_view key) {
  for (schema::Attr& attr : *node.mutable_attr())
    if (attr.key() == key) {
      attr.mutable_value()->Clear();
      return *attr.mutable_value();
    }
  schema::Attr* attr = node.add_attr();
  attr->set_key(std::string(key));
  return *attr->mutable_value();
}

void remove_attr(schema::Node& node, std::string_view key) {
  for (int i = node.attr_size(); i-- > 0;)
    if (node.attr(i).key() == key) node.mutable_attr()->DeleteSubrange(i, 1);
}

std::int32_t attr_type(const schema::Node& node, std::string_view key) {
  const schema::AttrValue* value = find_attr(node, key);
  return value != nullptr ? value->type() : 0;
}

std::string attr_text(const schema::Node& node, std::string_view key) {
  const schema::AttrValue* value = find_attr(node, key);
  return value != nullptr ? value->s() : std::string();
}

std::vector<std::int64_t> attr_ints(const schema::Node& node, std::string_view key) {
  const schema::AttrValue* value = find_attr(node, key);
  if (value == nullptr) return {};
  return {value->list().i().begin(), value->list().i().end()};
}

std::optional<std::vector<std::int64_t>> attr_shape(const schema::Node& node,
                                                    std::string_view key) {
  const schema::AttrValue* value = find_attr(node, key);
  if (value == nullptr || !value->has_shape() || value->shape().unknown_rank()) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const schema::Dim& dim : value->shape().dim()) {
    if (dim.size() < 0) return std::nullopt;
    dims.push_back(dim.size());
  }
  return dims;
}

void set_shape(schema::Shape& shape, std::span<const std::int64_t> dims) {
  shape.Clear();
  for (const std::int64_t dim : dims) shape.add_dim()->set_size(dim);
}

void set_type(schema::Node& node, std::string_view key, std::int32_t type) {
  set_attr(node, key).set_type(type);
}

void set_ints(schema::Node& node, std::string_view key, std::span<const std::int64_t> values) {
  schema::AttrList& list = *set_attr(node, key).mutable_list();
  for (const std::int64_t value : values) list.add_i(value);
}

std::optional<std::vector<std::string>> constant_texts(const schema::Node& node) {
  const schema::Tensor* tensor = constant_tensor(node);
  if (tensor == nullptr || tensor->dtype() != kString) return std::nullopt;
  const auto count = constant_count(*tensor);
  std::vector<std::string> texts;
  if (!count || !repeat_last(tensor->string_val(), *count, texts)) return std::nullopt;
  return texts;
}

std::optional<std::vector<std::int64_t>> constant_ints(const schema::Node& node) {
  const schema::Tensor* tensor = constant_tensor(node);
  if (tensor == nullptr) return std::nullopt;
  const bool wide = tensor->dtype() == kInt64;
  if (!wide && tensor->dtype() != kInt32) return std::nullopt;
  const auto count = constant_count(*tensor);
  if (!count) return std::nullopt;
  std::vector<std::int64_t> values;
  if (!tensor->tensor_content().empty()) {
    values = wide ? unpack<std::int64_t>(tensor->tensor_content())
                  : unpack<std::int32_t>(tensor->tensor_content());
    return static_cast<std::int64_t>(values.size()) == *count ? std::optional(values)
                                                              : std::nullopt;
  }
  // A constant of zeros may be stored without values.
  if (tensor->int64_val().empty() && tensor->int_val().empty())
    return std::vector<std::int64_t>(static_cast<std::size_t>(*count), 0);
  const bool fits = wide ? repeat_last(tensor->int64_val(), *count, values)
                         : repeat_last(tensor->int_val(), *count, values);
  return fits ? std::optional(values) : std::nullopt;
}

void set_constant_texts(schema::Node& node, std::span<const std::string> texts) {
  schema::Tensor& tensor = *set_attr(node, "value").mutable_tensor();
  tensor.set_dtype(kString);
  tensor.mutable_tensor_shape()->add_dim()->set_size(static_cast<std::int64_t>(texts.size()));
  for (const std::string& text : texts) tensor.add_string_val(text);
  remove_attr(node, "_output_shapes");
}

bool is_assignment(std::string_view op) { return op == "Assign" || op == "AssignVariableOp"; }

bool is_mutation(std::string_view op) {
  for (const std::string_view start :
       {"Assign", "Apply", "SparseApply", "ResourceApply", "ResourceSparseApply", "Scatter",
        "ResourceScatter", "ResourceAccumulator", "StridedSliceAssign",
        "ResourceStridedSliceAssign", "CountUpTo", "ResourceCountUpTo"})
    if (op.starts_with(start)) return true;
  return false;
}

bool is_variable(std::string_view op) {
  return op == "VariableV2" || op == "Variable" || op == "VarHandleOp";
}

bool passes_reference(std::string_view op) { return op == "RefSwitch" || op == "RefIdentity"; }

}  // namespace amct::tensorflow
