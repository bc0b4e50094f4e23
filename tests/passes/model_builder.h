#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// Builds small models for the tests of passes.
class ModelBuilder {
 public:
  explicit ModelBuilder(std::int64_t opset = 13) {
    model.ir_version = 7;
    model.opset_imports[""] = opset;
  }

  ir::Graph& graph() { return *model.graph; }

  ir::Value* input(const std::string& name, const std::vector<std::int64_t>& dims) {
    ir::Value* value = graph().add_value(name);
    value->type.data_type = ir::DataType::kFloat;
    value->type.shape.emplace();
    for (const std::int64_t dim : dims) value->type.shape->push_back({dim, {}});
    graph().add_input(value);
    return value;
  }

  ir::Value* constant(const std::string& name, const std::vector<std::int64_t>& dims,
                      const std::vector<float>& values) {
    return graph().add_constant(name, ir::Tensor::of<float>(dims, values));
  }
  ir::Value* int_constant(const std::string& name, const std::vector<std::int64_t>& values) {
    return graph().add_constant(
        name, ir::Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  /// Constant of seeded numbers in [low, high].
  ir::Value* random(const std::string& name, const std::vector<std::int64_t>& dims,
                    float low = -1.0F, float high = 1.0F) {
    std::uniform_real_distribution<float> draw(low, high);
    std::vector<float> values(static_cast<std::size_t>(ir::element_count(dims)));
    for (float& value : values) value = draw(generator_);
    return constant(name, dims, values);
  }

  using Setting = std::variant<float, std::int64_t, std::string, std::vector<std::int64_t>>;
  /// Node `name` with one output `output`.
  ir::Node* node(const std::string& op_type, const std::string& name,
                 const std::vector<ir::Value*>& inputs, const std::string& output,
                 const std::vector<std::pair<std::string, Setting>>& attributes = {}) {
    ir::Node* result = graph().add_node(op_type, inputs, {graph().add_value(output)});
    result->name = name;
    for (const auto& [key, setting] : attributes)
      std::visit([&](const auto& data) { result->set_attribute(key, data); }, setting);
    return result;
  }
  ir::Node* batch_norm(const std::string& name, ir::Value* input, std::int64_t channels,
                       const std::string& output) {
    return node(
        "BatchNormalization", name,
        {input, random(name + ".gamma", {channels}, 0.5F, 2.0F), random(name + ".beta", {channels}),
         random(name + ".mean", {channels}), random(name + ".variance", {channels}, 0.1F, 3.0F)},
        output, {{"epsilon", 0.01F}});
  }
  void output(ir::Node* node) { graph().add_output(node->output()); }

  /// "Conv BatchNormalization": the operators in order.
  std::string operators() const {
    std::string result;
    for (const auto& node : model.graph->nodes()) {
      if (!result.empty()) result += ' ';
      result += node->op_type;
    }
    return result;
  }

  ir::Model model;

 private:
  std::mt19937 generator_{7};
};

}  // namespace amct::passes
