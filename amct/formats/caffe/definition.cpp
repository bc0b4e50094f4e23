#include "amct/formats/caffe/definition.h"

#include <optional>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"

namespace amct::caffe {
namespace {

/// The enumerators that old layers may give by number.
constexpr std::string_view kV1ConvolutionNumber = "4";

std::vector<std::string> strings(const Prototxt& file, const std::vector<Field>& fields,
                                 std::string_view name) {
  std::vector<std::string> result;
  for (const Value* value : all(fields, name)) result.push_back(as_string(file, *value));
  return result;
}

/// Settings of one layer's convolution_param.
class Settings {
 public:
  Settings(const Prototxt& file, const std::vector<Field>& fields) : file_(file), fields_(fields) {}

  std::int64_t number(const char* name, std::int64_t fallback) const {
    const Value* value = find(file_, fields_, name);
    return value == nullptr ? fallback : std::int64_t{as_uint(file_, *value)};
  }

  bool flag(const char* name, bool fallback) const {
    const Value* value = find(file_, fields_, name);
    return value == nullptr ? fallback : as_bool(file_, *value);
  }

  /// A setting for both axes (one value, or one each) or, when they are given, for each by name.
  void per_axis(const std::string& name, const std::string& stem, std::int64_t fallback,
                std::int64_t& h, std::int64_t& w) {
    const std::vector<const Value*> values = all(fields_, name);
    const Value* value_h = stem.empty() ? nullptr : find(file_, fields_, stem + "_h");
    const Value* value_w = stem.empty() ? nullptr : find(file_, fields_, stem + "_w");
    h = w = fallback;
    if (value_h != nullptr || value_w != nullptr) {
      if (!values.empty())
        raise(ErrorCode::kInvalidModel, "{}: '{}' cannot stand beside '{}_h' and '{}_w'",
              file_.where(values.front()->begin), name, stem, stem);
      h = value_h == nullptr ? 0 : as_uint(file_, *value_h);
      w = value_w == nullptr ? 0 : as_uint(file_, *value_w);
    } else if (!values.empty()) {
      h = as_uint(file_, *values.front());
      w = as_uint(file_, *values.back());
      if (values.size() > 2) dimensions_ = values.size();
    }
  }

  /// Number of axes that the settings have, when it is not two.
  std::optional<std::size_t> dimensions() const { return dimensions_; }

 private:
  const Prototxt& file_;
  const std::vector<Field>& fields_;
  std::optional<std::size_t> dimensions_;
};

void require(const Prototxt& file, const LayerText& layer, bool condition, const char* wanted) {
  if (!condition)
    raise(ErrorCode::kInvalidModel, "{}: the convolution '{}' needs {}",
          file.where(layer.value->begin), layer.name, wanted);
}

}  // namespace

Definition Definition::load(const std::filesystem::path& path) {
  return parse(read_file(path), path.string());
}

Definition Definition::parse(std::string text, std::string name) {
  Definition definition;
  definition.file_ = Prototxt::parse(std::move(text), std::move(name));
  for (const Field& field : definition.file_.fields())
    if (field.name == "layer" || field.name == "layers")
      for (const Value& value : field.values)
        definition.add_layer(field, value, field.name == "layers");
  if (definition.layers_.empty())
    raise(ErrorCode::kInvalidModel,
          "'{}' has no layers; expected the definition of a Caffe network (.prototxt)",
          definition.file_.name());
  return definition;
}

void Definition::add_layer(const Field& field, const Value& value, bool v1) {
  const std::vector<Field>& fields = as_message(file_, value);
  if (v1 && !all(fields, "layer").empty())
    raise(ErrorCode::kUnsupported,
          "{}: this layer is in Caffe's first format (V0); convert the file with Caffe's "
          "upgrade_net_proto_text",
          file_.where(value.begin));
  LayerText layer{&field, &value, v1, {}, {}, {}, {}, {}};
  if (const Value* name = find(file_, fields, "name")) layer.name = as_string(file_, *name);
  if (const Value* type = find(file_, fields, "type"))
    layer.type = v1 ? type->text : as_string(file_, *type);
  if (v1 && layer.type == kV1ConvolutionNumber) layer.type = "CONVOLUTION";
  layer.bottoms = strings(file_, fields, "bottom");
  layer.tops = strings(file_, fields, "top");
  for (const Value* param : all(fields, "param")) {
    const Value* name = v1 ? param : find(file_, as_message(file_, *param), "name");
    layer.param_names.push_back(name == nullptr ? "" : as_string(file_, *name));
  }
  layers_.push_back(std::move(layer));
}

Convolution Definition::convolution(const LayerText& layer) const {
  require(file_, layer, !layer.name.empty(), "a name");
  require(file_, layer, !layer.tops.empty() && layer.tops.size() == layer.bottoms.size(),
          "a bottom, and a top for each bottom");
  const Value* param = find(file_, layer.value->fields, "convolution_param");
  require(file_, layer, param != nullptr, "its 'convolution_param'");
  Settings settings(file_, as_message(file_, *param));
  Convolution result;
  result.num_output = settings.number("num_output", 0);
  require(file_, layer, result.num_output > 0, "'num_output' of at least 1");
  settings.per_axis("kernel_size", "kernel", 0, result.window.kernel_h, result.window.kernel_w);
  require(file_, layer, result.window.kernel_h > 0 && result.window.kernel_w > 0,
          "'kernel_size', or both 'kernel_h' and 'kernel_w', of at least 1");
  settings.per_axis("stride", "stride", 1, result.window.stride_h, result.window.stride_w);
  require(file_, layer, result.window.stride_h > 0 && result.window.stride_w > 0,
          "'stride', or both 'stride_h' and 'stride_w', of at least 1");
  settings.per_axis("pad", "pad", 0, result.window.pad_h, result.window.pad_w);
  settings.per_axis("dilation", "", 1, result.dilation_h, result.dilation_w);
  result.groups = settings.number("group", 1);
  require(file_, layer, result.groups > 0, "'group' of at least 1");
  result.has_bias = settings.flag("bias_term", true);
  if (settings.dimensions())
    result.refusal = fmt::format("its kernel has {} dimensions, not 2", *settings.dimensions());
  const Value* axis = find(file_, param->fields, "axis");
  if (axis != nullptr && axis->text != "1" && axis->text != "-3")
    result.refusal = fmt::format("its channels are on axis {}, not 1", axis->text);
  if (!all(layer.value->fields, "blobs").empty())
    result.refusal = "its weights stand in the definition";
  return result;
}

}  // namespace amct::caffe
