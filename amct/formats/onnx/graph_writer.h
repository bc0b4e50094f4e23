#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "amct/formats/onnx/schema.h"
#include "amct/ir/graph.h"

namespace amct::onnx {

/// Which tensors leave the model file, and where their data lie in the data file.
struct ExternalPlan {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  struct Blob {
    const ir::Tensor* tensor;
    std::uint64_t offset;
  };

  /// Tensors with more bytes than this are external.
  std::uint64_t above_bytes = kNever;
  std::string location;
  /// Write big Constant nodes as initializers: engines read no external data in attributes.
  bool lift_constant_nodes = false;
  /// Also the initializers of subgraphs.
  bool in_subgraphs = false;

  /// Filled by the writer, in the order of the data file.
  std::vector<Blob> blobs;
  std::vector<const ir::Value*> values;
  std::uint64_t size = 0;

  bool wants(const ir::Tensor& tensor) const;
  /// Gives the tensor its place in the data file; returns the offset.
  std::uint64_t place(const ir::Tensor& tensor);
};

/// An initializer whose raw data are written straight from the tensor, without a copy.
struct StreamedInitializer {
  std::string head;                 // serialized TensorProto without raw data
  const ir::Tensor* raw = nullptr;  // null when the head says all
};

/// Turns an IR graph into a message.
class GraphWriter {
 public:
  explicit GraphWriter(ExternalPlan& plan) : plan_(plan) {}

  /// Fills `message` with all of the graph but its initializers, which are returned beside it.
  std::vector<StreamedInitializer> write_main(const ir::Graph& graph, schema::Graph& message);

 private:
  struct Initializer {
    const ir::Value* value;
    const ir::Tensor* tensor;
  };

  std::vector<Initializer> write_body(const ir::Graph& graph, schema::Graph& message);
  void write_subgraph(const ir::Graph& graph, schema::Graph& message);
  void write_inputs(const ir::Graph& graph, schema::Graph& message) const;
  void write_outputs(const ir::Graph& graph, schema::Graph& message) const;
  void write_value_infos(const ir::Graph& graph, schema::Graph& message) const;
  void write_node(const ir::Node& node, schema::Node& message);
  void write_attribute(const ir::Attribute& attribute, schema::Attribute& message);
  bool is_lifted(const ir::Node& node) const;
  /// Returns the tensor when its data have still to be written behind the head.
  const ir::Tensor* write_head(const Initializer& initializer, bool external,
                               schema::Tensor& message);

  ExternalPlan& plan_;
};

}  // namespace amct::onnx
