#include "amct/formats/tensorflow/shape_inference.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace amct::tensorflow {
namespace {

/// Longer ways get unknown shapes instead of a deep recursion; shapes found before shorten the way.
constexpr int kMaxDepth = 500;
constexpr std::int64_t kUnknown = -1;
/// Keeps sums and products of dims far from overflow.
constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;

constexpr std::string_view kSameShape[] = {"Identity",
                                           "Relu",
                                           "Relu6",
                                           "Elu",
                                           "Selu",
                                           "LeakyRelu",
                                           "Sigmoid",
                                           "Tanh",
                                           "Softplus",
                                           "Cast",
                                           "BiasAdd",
                                           "FusedBatchNorm",
                                           "FusedBatchNormV2",
                                           "FusedBatchNormV3",
                                           "LRN",
                                           "StopGradient",
                                           "Square",
                                           "Abs",
                                           "Neg",
                                           "Exp",
                                           "Sqrt",
                                           "Rsqrt",
                                           "PlaceholderWithDefault",
                                           "CheckNumerics"};
constexpr std::string_view kBroadcast[] = {"Add",     "AddV2",   "Sub",    "Mul",
                                           "RealDiv", "Maximum", "Minimum"};

std::vector<std::int64_t> dims_of(const schema::Shape& shape) {
  std::vector<std::int64_t> dims;
  for (const schema::Dim& dim : shape.dim())
    dims.push_back(dim.size() >= 0 && dim.size() < kMaxDim ? dim.size() : kUnknown);
  return dims;
}

ShapeInference::Shape declared(const schema::Node& node, int port) {
  if (const schema::AttrValue* shapes = find_attr(node, "_output_shapes");
      shapes != nullptr && port < shapes->list().shape_size() &&
      !shapes->list().shape(port).unknown_rank())
    return dims_of(shapes->list().shape(port));
  if (node.op() != "Placeholder") return std::nullopt;
  const schema::AttrValue* shape = find_attr(node, "shape");
  if (shape == nullptr || shape->shape().unknown_rank()) return std::nullopt;
  return dims_of(shape->shape());
}

std::int64_t window_positions(std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t padding, bool same) {
  if (size < 0 || stride < 1) return kUnknown;
  if (same) return (size + stride - 1) / stride;
  const std::int64_t room = size + padding - kernel;
  return room < 0 ? kUnknown : room / stride + 1;
}

}  // namespace

std::optional<Axes> data_format_axes(const schema::Node& node) {
  const std::string format = attr_text(node, "data_format");
  if (format == "NHWC" || format.empty()) return Axes{1, 2, 3};
  if (format == "NCHW") return Axes{2, 3, 1};
  return std::nullopt;
}

ShapeInference::Shape ShapeInference::shape(const std::string& tensor, int depth) {
  if (const auto known = known_.find(tensor); known != known_.end()) return known->second;
  const InputRef ref = parse_input(tensor);
  const schema::Node* node = graph_.find(ref.node);
  if (node == nullptr || ref.control || depth > kMaxDepth) return std::nullopt;
  known_[tensor] = std::nullopt;  // also ends the walk on a loop of the graph
  Shape result = declared(*node, ref.port);
  if (!result) result = infer(*node, ref.port, depth + 1);
  known_[tensor] = result;
  return result;
}

ShapeInference::Shape ShapeInference::infer(const schema::Node& node, int port, int depth) {
  if (port != 0 || data_input_count(node) == 0) return std::nullopt;
  if (std::ranges::find(kSameShape, node.op()) != std::end(kSameShape))
    return shape(node.input(0), depth);
  if (std::ranges::find(kBroadcast, node.op()) != std::end(kBroadcast))
    return broadcast(node, depth);
  if (node.op() == "Conv2D") return convolution(node, depth);
  if (node.op() == "MaxPool" || node.op() == "AvgPool") return pool(node, depth);
  if (node.op() == "Pad" || node.op() == "PadV2" || node.op() == "MirrorPad")
    return pad(node, depth);
  if (node.op() == "ConcatV2") return concat(node, depth);
  if (is_variable(node.op())) return attr_shape(node, "shape");
  if (node.op() == "ReadVariableOp") {
    const schema::Node* variable = graph_.producer(node, 0);
    return variable != nullptr ? attr_shape(*variable, "shape") : std::nullopt;
  }
  return std::nullopt;
}

ShapeInference::Shape ShapeInference::window(const schema::Node& node,
                                             const std::vector<std::int64_t>& input,
                                             std::int64_t kernel_h, std::int64_t kernel_w,
                                             std::int64_t channels) {
  const auto axes = data_format_axes(node);
  const std::vector<std::int64_t> strides = attr_ints(node, "strides");
  if (!axes || input.size() != 4 || strides.size() != 4) return std::nullopt;
  const std::string padding = attr_text(node, "padding");
  const std::vector<std::int64_t> pads = attr_ints(node, "explicit_paddings");
  const auto positions = [&](int axis, std::int64_t kernel) {
    const auto at = static_cast<std::size_t>(axis);
    std::int64_t padded = 0;
    if (padding == "EXPLICIT") {
      if (pads.size() != 8) return kUnknown;
      for (const std::int64_t side : {pads[2 * at], pads[2 * at + 1]}) {
        if (side < 0 || side >= kMaxDim) return kUnknown;
        padded += side;
      }
    }
    return window_positions(input[at], kernel, strides[at], padded, padding == "SAME");
  };
  std::vector<std::int64_t> dims(4, input[0]);
  dims[static_cast<std::size_t>(axes->height)] = positions(axes->height, kernel_h);
  dims[static_cast<std::size_t>(axes->width)] = positions(axes->width, kernel_w);
  dims[static_cast<std::size_t>(axes->channels)] = channels;
  return dims;
}

ShapeInference::Shape ShapeInference::convolution(const schema::Node& node, int depth) {
  if (data_input_count(node) != 2) return std::nullopt;
  const Shape input = shape(node.input(0), depth);
  const Shape kernel = shape(node.input(1), depth);
  const auto axes = data_format_axes(node);
  if (!input || !kernel || kernel->size() != 4 || !axes) return std::nullopt;
  std::vector<std::int64_t> dilations = attr_ints(node, "dilations");
  if (dilations.size() != 4) dilations.assign(4, 1);
  const auto extent = [&](std::size_t index, int axis) {
    const std::int64_t dilation = dilations[static_cast<std::size_t>(axis)];
    const std::int64_t size = (*kernel)[index];
    if (size < 1 || dilation < 1 || dilation > kMaxDim) return kMaxDim;
    return (size - 1) * dilation + 1;
  };
  return window(node, *input, extent(0, axes->height), extent(1, axes->width), (*kernel)[3]);
}

ShapeInference::Shape ShapeInference::pool(const schema::Node& node, int depth) {
  const Shape input = shape(node.input(0), depth);
  const auto axes = data_format_axes(node);
  const std::vector<std::int64_t> size = attr_ints(node, "ksize");
  if (!input || input->size() != 4 || !axes || size.size() != 4) return std::nullopt;
  return window(node, *input, size[static_cast<std::size_t>(axes->height)],
                size[static_cast<std::size_t>(axes->width)],
                (*input)[static_cast<std::size_t>(axes->channels)]);
}

ShapeInference::Shape ShapeInference::pad(const schema::Node& node, int depth) {
  Shape result = shape(node.input(0), depth);
  const schema::Node* amounts = graph_.producer(node, 1);
  if (!result || amounts == nullptr) return std::nullopt;
  const auto values = constant_ints(*amounts);
  if (!values || values->size() != 2 * result->size()) return std::nullopt;
  for (std::size_t i = 0; i < result->size(); ++i) {
    const std::int64_t before = (*values)[2 * i];
    const std::int64_t after = (*values)[2 * i + 1];
    if (before < 0 || after < 0 || before >= kMaxDim || after >= kMaxDim) return std::nullopt;
    if ((*result)[i] >= 0) (*result)[i] += before + after;
  }
  return result;
}

ShapeInference::Shape ShapeInference::concat(const schema::Node& node, int depth) {
  const int parts = data_input_count(node) - 1;
  const schema::Node* axis_node = graph_.producer(node, parts);
  const auto axis = axis_node != nullptr ? constant_ints(*axis_node) : std::nullopt;
  Shape result = parts > 0 ? shape(node.input(0), depth) : std::nullopt;
  if (!axis || axis->size() != 1 || !result) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(result->size());
  const std::int64_t at = axis->front() < 0 ? axis->front() + rank : axis->front();
  if (at < 0 || at >= rank) return std::nullopt;
  std::int64_t& sum = (*result)[static_cast<std::size_t>(at)];
  for (int i = 1; i < parts; ++i) {
    const Shape part = shape(node.input(i), depth);
    if (!part || part->size() != result->size()) return std::nullopt;
    const std::int64_t extent = (*part)[static_cast<std::size_t>(at)];
    sum = sum < 0 || extent < 0 || sum >= kMaxDim ? kUnknown : sum + extent;
  }
  return result;
}

ShapeInference::Shape ShapeInference::broadcast(const schema::Node& node, int depth) {
  if (data_input_count(node) != 2) return std::nullopt;
  Shape left = shape(node.input(0), depth);
  Shape right = shape(node.input(1), depth);
  if (!left || !right) return std::nullopt;
  if (left->size() < right->size()) std::swap(left, right);
  const std::size_t offset = left->size() - right->size();
  for (std::size_t i = 0; i < right->size(); ++i) {
    std::int64_t& dim = (*left)[offset + i];
    const std::int64_t other = (*right)[i];
    // A dimension of 1 takes the other's size; an unknown one may be either.
    if (dim == 1 || (dim < 0 && other > 1)) dim = other;
  }
  return left;
}

}  // namespace amct::tensorflow
