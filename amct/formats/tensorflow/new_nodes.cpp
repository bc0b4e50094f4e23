#include "amct/formats/tensorflow/new_nodes.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/half.h"
#include "amct/formats/tensorflow/shape_inference.h"

namespace amct::tensorflow {
namespace {

template <typename T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string real_bytes(double value, std::int32_t data_type) {
  if (data_type == kDouble) return bytes_of(value);
  if (data_type == kHalf) return bytes_of(half_from_float(static_cast<float>(value)));
  return bytes_of(static_cast<float>(value));
}

std::string add_constant(GraphEditor& graph, const std::string& name, std::int32_t data_type,
                         std::span<const std::int64_t> dims, std::string content,
                         const std::string& device) {
  schema::Node& node = graph.add(graph.unique_name(name), "Const", {}, device);
  set_type(node, "dtype", data_type);
  schema::Tensor& tensor = *set_attr(node, "value").mutable_tensor();
  tensor.set_dtype(data_type);
  set_shape(*tensor.mutable_tensor_shape(), dims);
  tensor.set_tensor_content(std::move(content));
  return node.name();
}

std::string add_integers(GraphEditor& graph, const std::string& name,
                         std::span<const std::int64_t> values, const std::string& device) {
  std::string content;
  for (const std::int64_t value : values) content += bytes_of(static_cast<std::int32_t>(value));
  const std::array count{static_cast<std::int64_t>(values.size())};
  return add_constant(graph, name, kInt32, count, std::move(content), device);
}

/// A chain of nodes under one name scope, each reading the one before.
class Chain {
 public:
  Chain(GraphEditor& graph, std::string scope, std::string tensor, const schema::Node& like)
      : graph_(graph),
        scope_(std::move(scope)),
        tensor_(std::move(tensor)),
        device_(like.device()),
        data_type_(attr_type(like, "dtype")) {}

  Chain& reshape(const char* name, std::initializer_list<std::int64_t> dims) {
    return apply("Reshape", name, "shape", "Tshape", dims);
  }
  Chain& transpose(const char* name, std::initializer_list<std::int64_t> order) {
    return apply("Transpose", name, "perm", "Tperm", order);
  }
  Chain& multiply(const char* name, const std::string& right) {
    schema::Node& node = add("MatMul", name, {tensor_, right});
    set_attr(node, "transpose_a").set_b(false);
    set_attr(node, "transpose_b").set_b(false);
    return *this;
  }
  const std::string& tensor() const { return tensor_; }

 private:
  schema::Node& add(const char* op, const char* name, const std::vector<std::string>& inputs) {
    schema::Node& node = graph_.add(graph_.unique_name(scope_ + "/" + name), op, inputs, device_);
    set_type(node, "T", data_type_);
    tensor_ = node.name();
    return node;
  }
  Chain& apply(const char* op, const char* name, const char* argument, const char* index_type,
               std::initializer_list<std::int64_t> values) {
    const std::string list = add_integers(graph_, scope_ + "/" + name + "/" + argument,
                                          {values.begin(), values.size()}, device_);
    set_type(add(op, name, {tensor_, list}), index_type, kInt32);
    return *this;
  }

  GraphEditor& graph_;
  std::string scope_;
  std::string tensor_;
  std::string device_;
  std::int32_t data_type_;
};

std::string add_initial_value(GraphEditor& graph, const std::string& scope,
                              const std::array<std::int64_t, 4>& dims, std::int32_t data_type,
                              const std::string& device) {
  const std::string shape = add_integers(graph, scope + "/truncated_normal/shape", dims, device);
  schema::Node& draw = graph.add(graph.unique_name(scope + "/truncated_normal/TruncatedNormal"),
                                 "TruncatedNormal", {shape}, device);
  set_type(draw, "T", kInt32);
  set_type(draw, "dtype", data_type);
  set_attr(draw, "seed").set_i(0);
  set_attr(draw, "seed2").set_i(0);
  const double fan_in = static_cast<double>(dims[0] * dims[1] * dims[2]);
  const std::string deviation =
      add_constant(graph, scope + "/truncated_normal/stddev", data_type, {},
                   real_bytes(1 / std::sqrt(fan_in), data_type), device);
  schema::Node& value = graph.add(graph.unique_name(scope + "/truncated_normal"), "Mul",
                                  {draw.name(), deviation}, device);
  set_type(value, "T", data_type);
  return value.name();
}

void set_colocation(schema::Node& node, const std::string& with) {
  set_attr(node, "_class").mutable_list()->add_s("loc:@" + with);
}

std::vector<std::int64_t> along(std::vector<std::int64_t> values, int axis, std::int64_t fill) {
  values[static_cast<std::size_t>(axis)] = fill;
  return values;
}

/// The kernel as the convolution reads it: cast where the graph computes in another type.
std::string kernel_tensor(GraphEditor& graph, const VariableNodes& variable, std::int32_t stored,
                          std::int32_t computed, const std::string& device) {
  if (stored == computed) return variable.names.snapshot;
  const std::string name = variable.variable.name + "/Cast";
  const schema::Node* existing = graph.find(name);
  if (existing != nullptr && attr_type(*existing, "DstT") == computed) return name;
  schema::Node& cast =
      graph.add(graph.unique_name(name), "Cast", {variable.names.snapshot}, device);
  set_type(cast, "SrcT", stored);
  set_type(cast, "DstT", computed);
  set_attr(cast, "Truncate").set_b(false);
  return cast.name();
}

ConvNode describe(const schema::Node& node) {
  ConvNode result{node.name(), attr_ints(node, "strides"), attr_ints(node, "dilations"), {}};
  if (result.dilations.empty()) result.dilations.assign(4, 1);
  if (attr_text(node, "padding") == "EXPLICIT")
    result.explicit_paddings = attr_ints(node, "explicit_paddings");
  return result;
}

/// A copy that works on one axis of the picture only.
schema::Node one_axis(const schema::Node& conv, const std::string& name, int idle_axis) {
  schema::Node node = conv;
  node.set_name(name);
  node.clear_input();
  set_ints(node, "strides", along(attr_ints(conv, "strides"), idle_axis, 1));
  if (const auto dilations = attr_ints(conv, "dilations"); dilations.size() == 4)
    set_ints(node, "dilations", along(dilations, idle_axis, 1));
  if (const auto pads = attr_ints(conv, "explicit_paddings"); pads.size() == 8)
    set_ints(node, "explicit_paddings", along(along(pads, 2 * idle_axis, 0), 2 * idle_axis + 1, 0));
  return node;
}

}  // namespace

VariableNodes add_variable(GraphEditor& graph, const schema::Node& like, const std::string& name,
                           const std::array<std::int64_t, 4>& dims) {
  const std::int32_t type = attr_type(like, "dtype");
  const bool resource = like.op() == "VarHandleOp";
  schema::Node node = like;
  node.set_name(name);
  set_shape(*set_attr(node, "shape").mutable_shape(), dims);
  remove_attr(node, "_output_shapes");
  set_colocation(node, name);
  if (!attr_text(like, "shared_name").empty()) set_attr(node, "shared_name").set_s(name);
  if (find_attr(like, "debug_name") != nullptr) set_attr(node, "debug_name").set_s(name + "/");
  schema::Node& variable = graph.add(std::move(node));
  const std::string initial =
      add_initial_value(graph, name + "/Initializer", dims, type, like.device());
  const schema::Node& assign =
      add_assignment(graph, graph.unique_name(name + "/Assign"), variable, initial);
  schema::Node& read =
      graph.add(graph.unique_name(name + (resource ? "/Read/ReadVariableOp" : "/read")),
                resource ? "ReadVariableOp" : "Identity", {name}, like.device());
  set_type(read, resource ? "dtype" : "T", type);
  if (!resource) set_colocation(read, name);
  return {{name, dims}, {name, assign.name(), read.name(), initial}};
}

schema::Node& add_assignment(GraphEditor& graph, const std::string& name,
                             const schema::Node& variable, const std::string& value) {
  const bool resource = variable.op() == "VarHandleOp";
  schema::Node& node = graph.add(name, resource ? "AssignVariableOp" : "Assign",
                                 {variable.name(), value}, variable.device());
  set_type(node, resource ? "dtype" : "T", attr_type(variable, "dtype"));
  if (resource) return node;
  set_attr(node, "use_locking").set_b(true);
  set_attr(node, "validate_shape").set_b(true);
  set_colocation(node, variable.name());
  return node;
}

std::string add_product(GraphEditor& graph, const Kernel& kernel, const Pair& pair) {
  const schema::Node& like = *kernel.parts.front().variable;
  const std::string scope = graph.unique_name(kernel.name + "_decomp_product");
  const std::int64_t height = kernel.dims[0], width = kernel.dims[1];
  const std::int64_t in = kernel.dims[2], out = kernel.dims[3];
  const std::int64_t rank = pair.first.variable.dims[3];
  const std::int64_t inner = pair.first_has_height ? height : width;
  const std::int64_t outer = pair.first_has_height ? width : height;
  Chain last(graph, scope, pair.last.names.snapshot, like);
  last.reshape("last", {outer, rank, out})
      .transpose("last_rows", {1, 0, 2})
      .reshape("last_matrix", {rank, outer * out});
  Chain whole(graph, scope, pair.first.names.snapshot, like);
  whole.reshape("first_matrix", {inner * in, rank})
      .multiply("product", last.tensor())
      .reshape("axes", {inner, in, outer, out});
  if (pair.first_has_height)
    whole.transpose("kernel", {0, 2, 1, 3});
  else
    whole.transpose("kernel", {2, 0, 1, 3});
  return whole.tensor();
}

void become_identity(GraphEditor& graph, schema::Node& node, const std::string& tensor,
                     std::int32_t data_type) {
  node.set_op("Identity");
  graph.set_inputs(node, {tensor});
  for (int i = node.attr_size(); i-- > 0;)
    if (node.attr(i).key() != "_class" && node.attr(i).key() != "_output_shapes")
      node.mutable_attr()->DeleteSubrange(i, 1);
  set_type(node, "T", data_type);
}

void become_slice(GraphEditor& graph, schema::Node& node, const std::string& tensor, int axis,
                  std::int64_t start, std::int64_t length, std::int32_t data_type) {
  become_identity(graph, node, tensor, data_type);
  node.set_op("Slice");
  std::array<std::int64_t, 4> begin{};
  std::array<std::int64_t, 4> size{-1, -1, -1, -1};
  begin[static_cast<std::size_t>(axis)] = start;
  size[static_cast<std::size_t>(axis)] = length;
  const std::string begin_name = add_integers(graph, node.name() + "/begin", begin, node.device());
  const std::string size_name = add_integers(graph, node.name() + "/size", size, node.device());
  graph.set_inputs(node, {tensor, begin_name, size_name});
  set_type(node, "Index", kInt32);
}

SplitConvolution split_convolution(GraphEditor& graph, const ConvSite& site, const Pair& pair) {
  schema::Node& conv = *site.node;
  const Axes axes = *data_format_axes(conv);
  const std::int32_t computed = attr_type(conv, "T");
  const std::int32_t stored = site.info.data_type;
  SplitConvolution result;
  result.name = conv.name();
  result.kernel = site.info.kernel;
  result.data_format =
      attr_text(conv, "data_format").empty() ? "NHWC" : attr_text(conv, "data_format");
  result.padding = attr_text(conv, "padding");
  result.original = describe(conv);
  for (const NodeUse& use : graph.uses(conv)) result.has_bias |= use.node->op() == "BiasAdd";

  const int first_idle = pair.first_has_height ? axes.width : axes.height;
  const int last_idle = pair.first_has_height ? axes.height : axes.width;
  schema::Node first = one_axis(conv, graph.unique_name(conv.name() + "_decomp_first"), first_idle);
  remove_attr(first, "_output_shapes");
  first.add_input(conv.input(0));
  first.add_input(kernel_tensor(graph, pair.first, stored, computed, conv.device()));
  for (int i = data_input_count(conv); i < conv.input_size(); ++i) first.add_input(conv.input(i));
  const std::string first_name = first.name();
  result.first = describe(graph.add(std::move(first)));
  schema::Node last = one_axis(conv, graph.unique_name(conv.name() + "_decomp_last"), last_idle);
  last.add_input(first_name);
  last.add_input(kernel_tensor(graph, pair.last, stored, computed, conv.device()));
  const std::string last_name = last.name();
  result.last = describe(graph.add(std::move(last)));

  become_identity(graph, conv, last_name, computed);
  graph.replace_uses(conv, 0, last_name);
  return result;
}

}  // namespace amct::tensorflow
