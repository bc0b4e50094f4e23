#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "amct/formats/tensorflow/graph_editor.h"

namespace amct::tensorflow {

/// Static shapes of tensors as far as the graph tells them, for the operators between a network's
/// input and its convolutions. -1 stands for an unknown dimension.
class ShapeInference {
 public:
  using Shape = std::optional<std::vector<std::int64_t>>;
  explicit ShapeInference(const GraphEditor& graph) : graph_(graph) {}

  Shape shape(const std::string& tensor) { return shape(tensor, 0); }

 private:
  Shape shape(const std::string& tensor, int depth);
  Shape infer(const schema::Node& node, int port, int depth);
  Shape window(const schema::Node& node, const std::vector<std::int64_t>& input,
               std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t channels);
  Shape convolution(const schema::Node& node, int depth);
  Shape pool(const schema::Node& node, int depth);
  Shape pad(const schema::Node& node, int depth);
  Shape concat(const schema::Node& node, int depth);
  Shape broadcast(const schema::Node& node, int depth);

  const GraphEditor& graph_;
  std::unordered_map<std::string, Shape> known_;
};

/// Positions of height, width and channels in a 4-D tensor of a data format.
struct Axes {
  int height;
  int width;
  int channels;
};
std::optional<Axes> data_format_axes(const schema::Node& node);

}  // namespace amct::tensorflow
