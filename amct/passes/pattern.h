#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/pass.h"

namespace amct::passes {

/// Node of the ONNX dialect with that operator.
bool is_op(const ir::Node& node, std::string_view op_type);

/// True when the value leaves its graph: it is an output of it or of a graph nested in it.
bool is_exposed(const ir::Value& value);

/// True when something reads the value or it is exposed.
bool is_used(const ir::Value& value);

/// True when `value` is read exactly once, by `reader`, and is not exposed.
bool only_read_by(const ir::Value& value, const ir::Node& reader);

/// The tensor when the value holds a float32 constant that no caller is expected to replace: a
/// plain initializer, or one that is a graph input too because its file has IR version 3 or lower.
const ir::Tensor* float_constant(const ir::Value* value, std::int64_t ir_version);

/// The float32 constant in the place of a weight. A graph input with a default counts, whatever the
/// IR version: nobody feeds weights to a model that is to be quantized.
const ir::Tensor* float_weight(const ir::Value* value);

/// Rank of a value, from its declared shape or from the nodes that lead to it; empty if not known.
std::optional<std::size_t> known_rank(const ir::Value& value);

/// `constant` as one number per channel when adding it to, or multiplying it with, a tensor of
/// `rank` dimensions and `channels` channels on axis 1 acts per channel and keeps the shape.
std::optional<std::vector<double>> per_channel(const ir::Tensor& constant,
                                               std::optional<std::size_t> rank,
                                               std::int64_t channels);

/// False when a number is NaN, infinite, or too large for float32.
bool fits_float(const std::vector<double>& values);
ir::Tensor to_float_tensor(std::vector<std::int64_t> dims, const std::vector<double>& values);
std::vector<double> to_double(const ir::Tensor& tensor);

/// Gives a value, that no node computes, the constant and the type that goes with it.
void replace_constant(ir::Value& value, ir::Tensor tensor);

/// Makes input `index` of `node` read `tensor`. The constant that stood there is overwritten when
/// nothing else reads it and, if it is a graph input, its shape stays; otherwise the node gets its
/// own, named after it or after `hint` when there was none.
void set_constant_input(ir::Node& node, std::size_t index, ir::Tensor tensor,
                        std::string_view hint);

/// Removes a constant that nothing reads any more; inputs and outputs of the graph stay.
void drop_if_unused(ir::Value* value);

/// Removes `node`, whose only used output becomes output 0 of `producer` under its own name.
void remove_and_take_output(ir::Node& node, ir::Node& producer);

/// Removes a node and then those of its constant inputs that nothing reads any more.
void remove_with_constants(ir::Node& node);

/// Files below IR version 4 must list every initializer as a graph input. Raises such a model to 4
/// when a pass has added an initializer that is no input.
void allow_plain_initializers(ir::Model& model);

/// A pass that visits every node of every graph once, in order. `match` makes every check and
/// changes nothing; `rewrite` cannot refuse and removes no node that stands after the visited one.
template <typename Match>
class PatternPass : public Pass {
 public:
  std::size_t run(ir::Model& model) final {
    std::size_t changes = 0;
    ir_version_ = model.ir_version;
    opset_ = model.opset();
    model.graph->for_each_graph([&](ir::Graph& graph) {
      for (ir::Node* node : graph.node_list()) {
        const std::optional<Match> found = match(*node);
        if (!found) continue;
        rewrite(*found);
        ++changes;
      }
    });
    if (changes > 0) allow_plain_initializers(model);
    return changes;
  }

 protected:
  virtual std::optional<Match> match(ir::Node& node) const = 0;
  virtual void rewrite(const Match& match) const = 0;
  std::int64_t ir_version() const { return ir_version_; }
  std::int64_t opset() const { return opset_; }

 private:
  std::int64_t ir_version_ = 0;
  std::int64_t opset_ = 0;
};

}  // namespace amct::passes
