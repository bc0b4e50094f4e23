#pragma once

#include "amct/formats/onnx/schema.h"
#include "amct/formats/onnx/tensor_codec.h"
#include "amct/ir/graph.h"

namespace amct::onnx {

/// Moves a graph message (and its subgraphs) into the IR: values first, then nodes, then order.
/// What the IR does not model stays in the `extra` bytes.
class GraphReader {
 public:
  explicit GraphReader(ExternalFiles& files) : files_(files) {}

  /// Fills the empty `graph`, whose parent node must be set already. Throws Error(kInvalidModel)
  /// that names the node, tensor or value at fault.
  void read(schema::Graph& message, ir::Graph& graph);

 private:
  void declare_inputs(schema::Graph& message, ir::Graph& graph);
  void take_constants(schema::Graph& message, ir::Graph& graph);
  void take_value_infos(schema::Graph& message, ir::Graph& graph);
  void take_nodes(schema::Graph& message, ir::Graph& graph);
  void take_outputs(schema::Graph& message, ir::Graph& graph);
  void connect(const schema::Node& message, ir::Node& node);
  ir::Attribute take_attribute(schema::Attribute& message, ir::Node& node);
  ir::Attribute::Data take_data(schema::Attribute& message, ir::Node& node);
  std::unique_ptr<ir::Graph> take_subgraph(schema::Graph& message, ir::Node& node);

  ExternalFiles& files_;
};

/// Makes every tensor that stays bytes in `message` independent of external data files.
void inline_external(schema::Attribute& message, ExternalFiles& files);
void inline_external(schema::Graph& message, ExternalFiles& files);

}  // namespace amct::onnx
