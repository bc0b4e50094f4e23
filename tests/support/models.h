#pragma once

#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::test {

/// "3", "batch" or "?" -> a dimension.
inline ir::Dim dim(const std::string& text) {
  if (text == "?") return {};
  if (text.find_first_not_of("0123456789") == std::string::npos) return {std::stoll(text), ""};
  return {std::nullopt, text};
}

inline ir::ValueType type(ir::DataType data_type, const std::vector<std::string>& dims) {
  ir::ValueType result;
  result.data_type = data_type;
  result.shape.emplace();
  for (const std::string& text : dims) result.shape->push_back(dim(text));
  return result;
}

/// A model of opset 17 that is put together node by node.
struct Builder {
  ir::Model model;

  Builder() {
    model.ir_version = 8;
    model.opset_imports[""] = 17;
    model.graph->name = "test";
  }
  ir::Graph& graph() { return *model.graph; }
  ir::Value* input(const std::string& name, ir::DataType data_type,
                   const std::vector<std::string>& dims) {
    ir::Value* value = graph().add_value(name);
    value->type = type(data_type, dims);
    graph().add_input(value);
    return value;
  }
  ir::Value* node(const std::string& op, std::vector<ir::Value*> inputs,
                  const std::string& output) {
    ir::Value* value = graph().add_value(output);
    graph().add_node(op, std::move(inputs), {value})->name = output + "_node";
    return value;
  }
  void output(ir::Value* value, ir::DataType data_type, const std::vector<std::string>& dims) {
    value->type = type(data_type, dims);
    graph().add_output(value);
  }
};

}  // namespace amct::test
