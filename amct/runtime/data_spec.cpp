#include "amct/runtime/data_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "amct/base/error.h"
#include "amct/runtime/feed_check.h"

namespace amct::runtime {
namespace {

constexpr ir::DataType kFileTypes[] = {
    ir::DataType::kFloat16, ir::DataType::kFloat, ir::DataType::kDouble,
    ir::DataType::kInt8,    ir::DataType::kUInt8, ir::DataType::kInt16,
    ir::DataType::kInt32,   ir::DataType::kInt64, ir::DataType::kBool};

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Parts between separators, trimmed; empty parts are kept except a last one.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  return parts;
}

std::int64_t parse_dim(std::string_view text, bool first, std::string_view part) {
  if (text == "?" || text == "-1") {
    if (first) return -1;
    raise(ErrorCode::kUsage, "input_shape: '{}' has '{}' outside the first place; give the number",
          part, text);
  }
  std::int64_t dim = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
  if (error != std::errc() || end != text.data() + text.size() || dim <= 0)
    raise(ErrorCode::kUsage, "input_shape: '{}' in '{}' is not a positive number", text, part);
  return dim;
}

std::vector<std::int64_t> parse_dims(std::string_view text, std::string_view part) {
  std::vector<std::int64_t> dims;
  if (text.empty()) return dims;
  for (const std::string_view dim : split(text, ','))
    dims.push_back(parse_dim(dim, dims.empty(), part));
  std::vector<std::int64_t> known = dims;
  if (known[0] < 0) known[0] = 1;
  try {
    ir::element_count(known);
  } catch (const Error&) {
    raise(ErrorCode::kUsage, "input_shape: '{}' is too large", part);
  }
  return dims;
}

void check_against_model(const PortInfo& port, const std::vector<std::int64_t>& dims) {
  if (!port.type.shape) return;
  bool fits = port.type.shape->size() == dims.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    const auto& wanted = (*port.type.shape)[i].value;
    fits = !wanted || dims[i] < 0 || *wanted == dims[i];
  }
  if (!fits)
    raise(ErrorCode::kUsage, "input_shape says {} for input '{}', but the model wants {}",
          describe_dims(dims), port.name, describe(port.type));
}

ir::DataType parse_type(std::string_view text) {
  const auto type = ir::parse_data_type(text);
  if (type && std::ranges::find(kFileTypes, *type) != std::end(kFileTypes)) return *type;
  raise(ErrorCode::kUsage,
        "data_types: '{}' is unknown; known are float16, float32, float64, int8, uint8, int16, "
        "int32, int64, bool",
        text);
}

void set_types(const std::string& text, std::vector<InputSpec>& specs) {
  if (trim(text).empty()) return;
  const auto parts = split(text, ';');
  if (parts.size() != 1 && parts.size() != specs.size())
    raise(ErrorCode::kUsage,
          "data_types names {} types; the model has {} inputs (one type covers all)", parts.size(),
          specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i)
    specs[i].type = parse_type(parts[parts.size() == 1 ? 0 : i]);
}

void set_sources(const std::string& text, std::vector<InputSpec>& specs) {
  const auto parts = split(text, ';');
  if (std::ranges::any_of(parts, &std::string_view::empty))
    raise(ErrorCode::kUsage, "data_dir '{}' has an empty part", text);
  if (parts.size() != 1 && parts.size() != specs.size()) {
    std::string names;
    for (const InputSpec& spec : specs)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", spec.port.name);
    raise(ErrorCode::kUsage,
          "data_dir names {} folders; the model has {} inputs, in this order: {}", parts.size(),
          specs.size(), names);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].source = parts[parts.size() == 1 ? 0 : i];
}

}  // namespace

std::string describe_dims(const std::vector<std::int64_t>& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += fmt::format("{}{}", i > 0 ? "," : "", dims[i] < 0 ? "?" : std::to_string(dims[i]));
  return text + "]";
}

std::vector<std::optional<std::vector<std::int64_t>>> parse_input_shape(
    const std::string& text, const std::vector<PortInfo>& inputs) {
  std::vector<std::optional<std::vector<std::int64_t>>> shapes(inputs.size());
  if (trim(text).empty()) return shapes;
  for (const std::string_view part : split(text, ';')) {
    const std::size_t colon = part.rfind(':');
    if (colon == std::string_view::npos)
      raise(ErrorCode::kUsage, "input_shape: '{}' is not of the form name:1,3,224,224", part);
    const std::string_view name = trim(part.substr(0, colon));
    const auto port = std::ranges::find(inputs, name, &PortInfo::name);
    if (port == inputs.end()) {
      std::string names;
      for (const PortInfo& known : inputs)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", known.name);
      raise(ErrorCode::kUsage, "input_shape: the model has no input '{}'; its inputs are {}", name,
            names);
    }
    auto& shape = shapes[static_cast<std::size_t>(port - inputs.begin())];
    if (shape) raise(ErrorCode::kUsage, "input_shape names input '{}' twice", name);
    shape = parse_dims(trim(part.substr(colon + 1)), part);
    check_against_model(*port, *shape);
  }
  return shapes;
}

std::vector<InputSpec> parse_data_options(const DataOptions& options,
                                          const std::vector<PortInfo>& inputs) {
  std::vector<InputSpec> specs;
  const auto shapes = parse_input_shape(options.input_shape, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    specs.push_back({inputs[i], shapes[i], std::nullopt, {}});
  set_types(options.data_types, specs);
  set_sources(options.data_dir, specs);
  return specs;
}

std::vector<PortInfo> model_inputs(const ir::Model& model) {
  std::vector<PortInfo> inputs;
  for (const ir::Value* value : model.graph->inputs())
    if (value->constant() == nullptr && !value->opaque_constant)
      inputs.push_back({value->name(), value->type});
  return inputs;
}

}  // namespace amct::runtime
