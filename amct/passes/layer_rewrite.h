#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// What turns one tensor into integers, and the name of its node.
struct Quantizer {
  std::string name;
  QuantFactor factor;
  int bits = 8;
};
Quantizer quantizer_of(const LayerPlan& plan);
Quantizer quantizer_of(const InputPlan& plan);
Quantizer quantizer_of(const OutputPlan& plan);
/// Name of the node that turns the integers of the input into real numbers.
std::string anti_quantizer_name(const InputPlan& plan);

/// Makes one quantizer per (tensor, factor, width): nodes that share an activation share it.
class QuantizerCache {
 public:
  /// Builds the quantizer in front of `before` and returns its output.
  using Make = std::function<ir::Value*(ir::Value* activation, const Quantizer& quantizer,
                                        ir::Node* before)>;
  explicit QuantizerCache(Make make) : make_(std::move(make)) {}

  ir::Value* get(ir::Value* activation, const Quantizer& quantizer, ir::Node* before);

 private:
  Make make_;
  std::map<std::tuple<ir::Value*, float, std::int32_t, int>, ir::Value*> made_;
};

/// Makes one constant of equal integers that replace the same original constant: layers that share
/// a weight go on sharing it when their scales allow it.
class ConstantCache {
 public:
  ir::Value* get(ir::Graph& graph, const ir::Value* original, const ir::Tensor& integers,
                 std::string_view hint);

 private:
  std::map<std::string, std::vector<ir::Value*>> made_;  // by the original's name
};

/// The parts of a layer that a rewrite replaces.
struct LayerSlots {
  ir::LayerView view;
  /// Computes the layer's result: the Add of a MatMul whose plan has its bias, else the layer's
  /// node.
  ir::Node* tail = nullptr;
  /// Input of `tail` or of the node that holds the bias; none when there is no bias.
  ir::Node* bias_node = nullptr;
  std::size_t bias_index = 0;
};

/// Finds the layer of a plan. Throws Error(kInvalidModel) when the graph has none of that name.
LayerSlots find_slots(ir::Graph& graph, const LayerPlan& plan);

/// The node of a plan. Throws Error(kInvalidModel) when the graph has none with such an input.
ir::Node* find_reader(ir::Graph& graph, const InputPlan& plan);

/// Removes the QuantizeLinear of the plan. Returns its data; `output`: its result, now signed and
/// without a producer. Throws Error(kInvalidModel) when there is no such node.
ir::Value* remove_quantize_linear(ir::Graph& graph, const OutputPlan& plan, ir::Value*& output);

/// Lets input `index` of `node` read `value`. A constant that stood there goes when nothing reads
/// it any more, also when it was declared as a graph input (files of IR version 3 list weights
/// there).
void replace_input(ir::Node& node, std::size_t index, ir::Value* value);

/// Rows and columns of an int8 matrix exchanged.
ir::Tensor transposed(const ir::Tensor& matrix);

/// Dims that let one value per output channel broadcast along a layer's output: [C] behind axis 1
/// for convolutions of `weight_rank` dimensions ([C, 1, 1] for 4), [C] for Gemm and MatMul.
std::vector<std::int64_t> channel_dims(const LayerPlan& plan, std::int64_t channels);

/// Adds a constant named after `hint`.
ir::Value* add_vector(ir::Graph& graph, std::string_view hint, const std::vector<float>& values,
                      std::vector<std::int64_t> dims);
template <typename T>
ir::Value* add_scalar(ir::Graph& graph, std::string_view hint, T value) {
  return graph.add_constant(hint, ir::Tensor::scalar<T>(value));
}

/// Adds a named node before `before` with one fresh output named after the node.
ir::Node* add_named(ir::Graph& graph, std::string op_type, const std::vector<ir::Value*>& inputs,
                    std::string_view name, ir::Node* before);
/// The same, but the node computes `output`, a value that has lost its producer.
ir::Node* add_named_for(ir::Graph& graph, std::string op_type,
                        const std::vector<ir::Value*>& inputs, std::string_view name,
                        ir::Value* output, ir::Node* before);

}  // namespace amct::passes
