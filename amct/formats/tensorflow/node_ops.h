#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amct/formats/tensorflow/schema.h"

namespace amct::tensorflow {

/// One entry of a node's input list: "node", "node:port" or "^node" (a control input).
struct InputRef {
  std::string node;
  int port = 0;
  bool control = false;
};
InputRef parse_input(std::string_view text);
std::string tensor_name(std::string_view node, int port);
/// Inputs that carry data come first; their number.
int data_input_count(const schema::Node& node);

const schema::AttrValue* find_attr(const schema::Node& node, std::string_view key);
schema::AttrValue& set_attr(schema::Node& node, std::string_view key);
void remove_attr(schema::Node& node, std::string_view key);

std::int32_t attr_type(const schema::Node& node, std::string_view key);  // 0 when missing
std::string attr_text(const schema::Node& node, std::string_view key);   // "" when missing
std::vector<std::int64_t> attr_ints(const schema::Node& node, std::string_view key);
/// The dims of attribute `shape`; empty unless all are known.
std::optional<std::vector<std::int64_t>> attr_shape(const schema::Node& node, std::string_view key);

void set_shape(schema::Shape& shape, std::span<const std::int64_t> dims);
void set_type(schema::Node& node, std::string_view key, std::int32_t type);
void set_ints(schema::Node& node, std::string_view key, std::span<const std::int64_t> values);

/// Texts of a constant string vector, "last value repeats" undone; empty when it is none.
std::optional<std::vector<std::string>> constant_texts(const schema::Node& node);
/// Values of a small constant int32 or int64 tensor.
std::optional<std::vector<std::int64_t>> constant_ints(const schema::Node& node);
void set_constant_texts(schema::Node& node, std::span<const std::string> texts);

/// True for operators that change the variable at their input 0 (assignment, optimizer steps).
bool is_mutation(std::string_view op);
/// True for plain assignments of a whole value, from an initializer or a saver.
bool is_assignment(std::string_view op);
bool is_variable(std::string_view op);
/// True for operators that pass a reference variable on, and have a twin for values without "Ref".
bool passes_reference(std::string_view op);

}  // namespace amct::tensorflow
