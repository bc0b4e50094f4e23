#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "amct/ir/graph.h"
#include "amct/passes/qdq_grid.h"

namespace amct::passes {

/// An input of a node, by the node's name.
using InputSlot = std::pair<std::string, std::size_t>;

/// How a QDQ model quantizes what its nodes read and what it yields.
struct QdqFactors {
  /// Of data: what a QuantizeLinear/DequantizeLinear pair was in front of. Of weights and biases:
  /// also through Transpose, Reshape and the like.
  std::map<InputSlot, QdqGrid> data;
  std::map<InputSlot, QdqGrid> constants;
  /// QuantizeLinear nodes that stay because they compute graph outputs, by name.
  std::map<std::string, QdqGrid> outputs;
  /// Nodes that could not be taken out, by name, with the reason.
  std::map<std::string, std::string> left;
};

/// Takes QuantizeLinear and DequantizeLinear out of a model, whose nodes have unique names: what
/// stays is the network in float, with the weights and biases that the integers stood for.
QdqFactors take_qdq(ir::Model& model);

/// Where the pair was that quantizes what input `index` of `node` reads: in front of it, or in
/// front of nodes through which quantization can be moved because they commute with it. Null when
/// there is none.
const std::pair<const InputSlot, QdqGrid>* find_data_grid(const QdqFactors& factors,
                                                          const ir::Node& node, std::size_t index);

/// Whether quantization commutes with the node: it moves data (Reshape, MaxPool, ...) or is Relu.
bool commutes_with_quantization(const ir::Node& node);

}  // namespace amct::passes
