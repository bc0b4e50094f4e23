#include <fmt/core.h>

#include <algorithm>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/kernel.h"
#include "amct/formats/tensorflow/printable.h"
#include "amct/formats/tensorflow/shape_inference.h"

namespace amct::tensorflow {
namespace {

std::string describe(const schema::Node& node) {
  return fmt::format("'{}' ({})", printable(node.name()), printable(node.op()));
}

/// Walks from convolutions to the variables of their kernels.
class KernelFinder {
 public:
  KernelFinder(const GraphEditor& graph, const std::vector<SaverNode>& savers,
               const CheckpointReader& checkpoint)
      : graph_(graph), savers_(savers), checkpoint_(checkpoint) {}

  /// Fills the site's path, and returns its kernel or why it has none that can be split.
  std::optional<Kernel> find(ConvSite& site, std::string& refusal) const {
    schema::Node* node = graph_.producer(*site.node, 1);
    if (node == nullptr || parse_input(site.node->input(1)).port != 0) {
      refusal = "its kernel is not a variable";
      return std::nullopt;
    }
    while (node != nullptr && (node->op() == "Identity" || node->op() == "Cast") &&
           site.kernel_path.size() < 8 && data_input_count(*node) == 1 &&
           parse_input(node->input(0)).port == 0) {
      site.kernel_path.push_back(node);
      node = graph_.producer(*node, 0);
    }
    if (node == nullptr) {
      refusal = "its kernel is not a variable";
      return std::nullopt;
    }
    Kernel kernel;
    refusal = node->op() == "ConcatV2" ? take_joint(*node, site, kernel)
                                       : take_single(*node, site, kernel);
    if (refusal.empty()) refusal = check(kernel);
    if (!refusal.empty()) return std::nullopt;
    return kernel;
  }

 private:
  std::string add_part(schema::Node& variable, Kernel& kernel) const {
    const auto dims = attr_shape(variable, "shape");
    if (!dims || dims->size() != 4) return "the shape of its kernel is not known";
    kernel.resource = variable.op() == "VarHandleOp";
    kernel.data_type = attr_type(variable, "dtype");
    kernel.parts.push_back({&variable, *dims, key_of(variable, savers_)});
    return {};
  }

  std::string take_single(schema::Node& node, ConvSite& site, Kernel& kernel) const {
    schema::Node* variable = read_variable(graph_, node.name(), &site.kernel_path);
    if (variable == nullptr) {
      if (node.op() == "Const") return "its kernel is a constant, not a variable of the checkpoint";
      return fmt::format("its kernel is not a variable but computed by node {}", describe(node));
    }
    std::string refusal = add_part(*variable, kernel);
    if (!refusal.empty()) return refusal;
    kernel.dims = kernel.parts.front().dims;
    kernel.name = whole_name(kernel);
    return {};
  }

  std::string take_joint(schema::Node& node, ConvSite& site, Kernel& kernel) const {
    const int count = data_input_count(node) - 1;
    const schema::Node* axis_node = graph_.producer(node, count);
    const auto axis = axis_node != nullptr ? constant_ints(*axis_node) : std::nullopt;
    if (count < 1 || !axis || axis->size() != 1 || axis->front() < -4 || axis->front() > 3)
      return fmt::format("its kernel is not a variable but computed by node {}", describe(node));
    kernel.axis = static_cast<int>((axis->front() + 4) % 4);
    for (int i = 0; i < count; ++i) {
      schema::Node* variable = read_variable(graph_, node.input(i));
      if (variable == nullptr)
        return fmt::format("its kernel is put together by node {}, not of variables only",
                           describe(node));
      std::string refusal = add_part(*variable, kernel);
      if (!refusal.empty()) return refusal;
    }
    site.joint = &node;
    site.kernel_path.push_back(&node);
    return join_parts(kernel);
  }

  std::string join_parts(Kernel& kernel) const {
    const auto axis = static_cast<std::size_t>(kernel.axis);
    kernel.dims = kernel.parts.front().dims;
    kernel.dims[axis] = 0;
    for (const KernelPart& part : kernel.parts) {
      std::vector<std::int64_t> expected = kernel.dims;
      expected[axis] = part.dims[axis];
      if (part.dims != expected || attr_type(*part.variable, "dtype") != kernel.data_type)
        return "the parts of its partitioned kernel do not fit together";
      if (const auto slice = parse_slice(part.key.slice);
          slice && slice->ranges.size() == 4 && slice->ranges[axis].length >= 0 &&
          slice->ranges[axis].start != kernel.dims[axis])
        return "the parts of its partitioned kernel are not in order";
      kernel.dims[axis] += part.dims[axis];
    }
    kernel.name = whole_name(kernel);
    return {};
  }

  /// "conv/kernel" also when its parts are "conv/kernel/part_0"...
  static std::string whole_name(const Kernel& kernel) {
    const std::string& name = kernel.parts.front().variable->name();
    const auto part = name.rfind("/part_0");
    if (part == std::string::npos || part + 7 != name.size()) return name;
    return name.substr(0, part);
  }

  std::string check(const Kernel& kernel) const {
    const std::int32_t type = kernel.data_type;
    if (type != kFloat && type != kDouble && type != kHalf)
      return fmt::format("its kernel is {}, only float16, float32 and float64 are decomposed",
                         data_type_name(type));
    for (const KernelPart& part : kernel.parts) {
      if (checkpoint_.find(part.key.key) == nullptr)
        return fmt::format("the checkpoint has no '{}'", printable(part.key.key));
      if (std::string reason = check_uses(*part.variable); !reason.empty()) return reason;
    }
    return {};
  }

  /// Everything that touches the variable must be known, so that none of it breaks unseen.
  std::string check_uses(const schema::Node& variable) const {
    for (const NodeUse& use : graph_.uses(variable)) {
      if (use.port != 0 || is_mutation(use.node->op())) continue;
      if (variable.op() == "VarHandleOp" ? !takes_handle(use.node->op()) : !takes_value(*use.node))
        return fmt::format("its kernel variable is also used by node {}", describe(*use.node));
    }
    return {};
  }

  static bool takes_handle(const std::string& op) {
    return op == "ReadVariableOp" || op == "VarIsInitializedOp" || op == "DisableCopyOnRead";
  }

  /// What reads a reference variable reads a value as well, unless it passes the reference on.
  bool takes_value(const schema::Node& node) const {
    if (!passes_reference(node.op())) return !node.op().starts_with("Ref");
    return std::ranges::none_of(graph_.uses(node), [](const NodeUse& use) {
      return use.port >= 0 && (is_mutation(use.node->op()) || use.node->op().starts_with("Ref"));
    });
  }

  const GraphEditor& graph_;
  const std::vector<SaverNode>& savers_;
  const CheckpointReader& checkpoint_;
};

/// Strides and dilations of the picture's axes, and what else the node must be like.
std::string read_geometry(const schema::Node& node, Convolution& info) {
  const auto axes = data_format_axes(node);
  if (!axes)
    return fmt::format("its data_format is '{}', expected NHWC or NCHW",
                       printable(attr_text(node, "data_format")));
  const std::vector<std::int64_t> strides = attr_ints(node, "strides");
  std::vector<std::int64_t> dilations = attr_ints(node, "dilations");
  if (dilations.empty()) dilations.assign(4, 1);
  if (strides.size() != 4 || dilations.size() != 4) return "its strides are not four numbers";
  const auto at = [](const std::vector<std::int64_t>& list, int axis) {
    return list[static_cast<std::size_t>(axis)];
  };
  const int batch = 0;
  if (at(strides, batch) != 1 || at(strides, axes->channels) != 1)
    return "it has strides along batch or channels";
  info.stride_h = at(strides, axes->height);
  info.stride_w = at(strides, axes->width);
  info.dilation_h = at(dilations, axes->height);
  info.dilation_w = at(dilations, axes->width);
  const std::string padding = attr_text(node, "padding");
  if (padding == "EXPLICIT" && attr_ints(node, "explicit_paddings").size() != 8)
    return "its explicit_paddings are not eight numbers";
  if (padding != "SAME" && padding != "VALID" && padding != "EXPLICIT")
    return fmt::format("its padding is '{}', expected SAME, VALID or EXPLICIT", printable(padding));
  return {};
}

void read_shapes(const ConvSite& site, const Kernel& kernel, ShapeInference& shapes,
                 Convolution& info) {
  info.data_type = kernel.data_type;
  info.kernel_h = kernel.dims[0];
  info.kernel_w = kernel.dims[1];
  info.in_channels = kernel.dims[2];
  info.out_channels = kernel.dims[3];
  const auto axes = data_format_axes(*site.node);
  if (!axes) return;
  const auto input = shapes.shape(site.node->input(0));
  const std::int64_t channels =
      input && input->size() == 4 ? (*input)[static_cast<std::size_t>(axes->channels)] : -1;
  if (channels > 0 && info.in_channels > 0 && channels % info.in_channels == 0) {
    info.groups = channels / info.in_channels;
    info.in_channels = channels;
  }
  const auto output = shapes.shape(site.node->name());
  if (!output || output->size() != 4) return;
  const std::int64_t height = (*output)[static_cast<std::size_t>(axes->height)];
  const std::int64_t width = (*output)[static_cast<std::size_t>(axes->width)];
  if (height > 0 && width > 0) info.output_positions = height * width;
}

/// A transposed convolution on the same kernel is part of the model: the kernel cannot be split.
std::string find_transposed_use(const GraphEditor& graph, const std::vector<ConvSite>& sites,
                                const ConvSite& site) {
  for (const schema::Node* tensor : site.kernel_path)
    for (const NodeUse& use : graph.uses(*tensor)) {
      if (use.node->op() != "Conv2DBackpropInput" || use.index != 1) continue;
      const bool gradient = std::ranges::any_of(sites, [&](const ConvSite& other) {
        return is_gradient_of(graph, *use.node, *other.node);
      });
      if (!gradient)
        return fmt::format("its kernel is also that of the transposed convolution {}",
                           describe(*use.node));
    }
  return {};
}

}  // namespace

bool is_gradient_of(const GraphEditor& graph, const schema::Node& node, const schema::Node& conv) {
  const bool of_input = node.op() == "Conv2DBackpropInput";
  if ((!of_input && node.op() != "Conv2DBackpropFilter") || data_input_count(node) != 3)
    return false;
  const schema::Node* sizes = graph.producer(node, of_input ? 0 : 1);
  if (sizes == nullptr) return false;
  // TensorFlow's gradient takes both sizes from one ShapeN of the convolution's inputs.
  if (sizes->op() == "ShapeN" && data_input_count(*sizes) == 2)
    return sizes->input(0) == conv.input(0) && sizes->input(1) == conv.input(1);
  return node.name().find(conv.name() + "_grad/") != std::string::npos;
}

ConvSites find_convolutions(const GraphEditor& graph, const std::vector<SaverNode>& savers,
                            const std::unordered_set<std::string>& in_context,
                            const CheckpointReader& checkpoint) {
  ConvSites found;
  const KernelFinder finder(graph, savers, checkpoint);
  ShapeInference shapes(graph);
  for (schema::Node* node : graph.nodes()) {
    if (node->op() != "Conv2D" && node->op() != "DepthwiseConv2dNative") continue;
    ConvSite& site = found.sites.emplace_back(ConvSite{node, {}, {}, nullptr});
    Convolution& info = site.info;
    info.name = node->name();
    if (node->op() != "Conv2D") {
      info.refusal = "it is a depthwise convolution";
      continue;
    }
    if (data_input_count(*node) != 2) {
      info.refusal = "it has another number of inputs than two";
      continue;
    }
    auto kernel = finder.find(site, info.refusal);
    if (!kernel) continue;
    info.kernel = kernel->name;
    read_shapes(site, *kernel, shapes, info);
    info.refusal = read_geometry(*node, info);
    if (info.refusal.empty() && in_context.contains(node->name()))
      info.refusal = "it is inside tf.cond or tf.while_loop";
    found.kernels.emplace(kernel->name, std::move(*kernel));
  }
  for (ConvSite& site : found.sites)
    if (site.info.refusal.empty())
      site.info.refusal = find_transposed_use(graph, found.sites, site);
  return found;
}

}  // namespace amct::tensorflow
