#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "amct/ir/text.h"
#include "amct/ir/text_elements.h"

namespace amct::ir {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      result += fmt::format("\\x{}", to_hex({&c, 1}));
    else
      result += c;
  }
  return result + '"';
}

std::string hex(std::string_view bytes) { return fmt::format("hex\"{}\"", to_hex(bytes)); }

/// A name behind % or @.
std::string sigil_name(std::string_view name) {
  const bool bare = !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_word(c) || c == '.' || c == '/';
  });
  return bare ? std::string(name) : quoted(name);
}

/// A name that stands alone.
std::string word(std::string_view name) {
  const bool bare =
      !name.empty() && name != "_" && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
      std::ranges::all_of(name, [](char c) { return is_word(c) || c == '.'; }) && name[0] != '.';
  return bare ? std::string(name) : quoted(name);
}

template <typename Items, typename Format>
std::string join(const Items& items, const Format& format, const char* separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    first = false;
    text += format(item);
  }
  return text;
}

std::string to_text(std::int64_t value) { return std::to_string(value); }

std::string format_dim(const Dim& dim) {
  if (dim.value) return std::to_string(*dim.value);
  return dim.symbol.empty() ? "?" : word(dim.symbol);
}

std::string format_type(const ValueType& type) {
  std::string text = type.data_type == DataType::kUndefined ? "?" : to_string(type.data_type);
  if (type.shape) text += fmt::format("[{}]", join(*type.shape, format_dim, ","));
  if (!type.opaque.empty()) text += fmt::format(" opaque {}", hex(type.opaque));
  return text;
}

std::string extra_suffix(const char* keyword, const std::string& extra) {
  return extra.empty() ? std::string() : fmt::format(" {} {}", keyword, hex(extra));
}

std::string reference(const Value* value) {
  return value == nullptr || value->name().empty() ? "_"
                                                   : fmt::format("%{}", sigil_name(value->name()));
}

std::string declaration(const Value* value) {
  std::string text = reference(value);
  if (value->type != ValueType{}) text += fmt::format(": {}", format_type(value->type));
  return text + extra_suffix("extra", value->extra);
}

ValueType type_of(const Tensor& tensor) {
  ValueType type{tensor.type(), std::vector<Dim>(), {}};
  for (const std::int64_t dim : tensor.dims()) type.shape->push_back({dim, {}});
  return type;
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string take() { return std::move(text_); }

  void model(const Model& model) {
    text_ += fmt::format("ir_version {}\n", model.ir_version);
    for (const auto& [domain, version] : model.opset_imports)
      text_ += fmt::format("opset {} {}\n", quoted(domain), version);
    if (!model.producer_name.empty() || !model.producer_version.empty())
      text_ += fmt::format("producer {} {}\n", quoted(model.producer_name),
                           quoted(model.producer_version));
    for (const auto& [key, value] : model.metadata)
      text_ += fmt::format("metadata {} {}\n", quoted(key), quoted(value));
    for (const std::string& function : model.functions)
      text_ += fmt::format("function {}\n", quoted(function));
    if (!model.extra.empty()) text_ += fmt::format("extra {}\n", hex(model.extra));
    text_ += "\n";
    graph(*model.graph);
    text_ += "\n";
  }

  void graph(const Graph& graph) {
    text_ += fmt::format("graph {} ({}) -> ({}) {{\n", word(graph.name),
                         join(graph.inputs(), declaration), join(graph.outputs(), reference));
    indent_ += 2;
    if (!graph.extra.empty()) line(fmt::format("extra {}", hex(graph.extra)));
    for (const Value* value : graph.constants()) constant(*value);
    for (const auto& item : graph.nodes()) node(*item);
    indent_ -= 2;
    text_ += std::string(indent_, ' ') + "}";
  }

 private:
  void line(const std::string& content) { text_ += fmt::format("{:{}}{}\n", "", indent_, content); }

  void constant(const Value& value) {
    const bool input = value.is_graph_input();
    if (value.constant() == nullptr) {
      line(fmt::format("opaque_const {}", input ? reference(&value) : declaration(&value)));
      return;
    }
    const Tensor& data = *value.constant();
    std::string text = fmt::format("const {}", reference(&value));
    if (!input) {
      if (value.type != type_of(data)) text += fmt::format(": {}", format_type(value.type));
      text += extra_suffix("extra", value.extra);
    }
    line(text + " = " + tensor(data) + extra_suffix("constant_extra", value.constant_extra));
  }

  std::string tensor(const Tensor& tensor) const {
    const std::string text =
        fmt::format("{}[{}] ", to_string(tensor.type()), join(tensor.dims(), to_text, ","));
    const ElementForm form = element_form(tensor.type());
    if (form == ElementForm::kString)
      return fmt::format("{}{{{}}}", text, join(tensor.strings(), quoted));
    if (tensor.size() > options_.max_elements)
      return fmt::format("{}elided(0x{:016x})", text, hash_of(tensor));
    if (form != ElementForm::kHex) return fmt::format("{}{{{}}}", text, format_elements(tensor));
    return text +
           hex({reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()});
  }

  void node(const Node& node) {
    text_ += std::string(indent_, ' ');
    text_ += node.outputs().empty() ? "()" : join(node.outputs(), declaration);
    text_ += " = ";
    if (!node.domain.empty()) text_ += word(node.domain) + "::";
    text_ += word(node.op_type);
    if (!node.name.empty()) text_ += fmt::format(" @{} ", sigil_name(node.name));
    text_ += fmt::format("({})", join(node.inputs(), reference));
    if (!node.attributes.empty()) {
      text_ += " {";
      bool first = true;
      for (const Attribute& attribute : node.attributes) {
        if (!first) text_ += ", ";
        first = false;
        text_ += word(attribute.name) + " = ";
        std::visit([this](const auto& data) { attribute_data(data); }, attribute.data);
        text_ += extra_suffix("extra", attribute.extra);
      }
      text_ += "}";
    }
    text_ += extra_suffix("extra", node.extra);
    text_ += '\n';
  }

  void attribute_data(float value) { text_ += format_float(value, true); }
  void attribute_data(std::int64_t value) { text_ += std::to_string(value); }
  void attribute_data(const std::string& value) { text_ += quoted(value); }
  void attribute_data(const Tensor& value) { text_ += tensor(value); }
  void attribute_data(const OpaqueAttribute& value) {
    text_ += fmt::format("opaque {}", hex(value.bytes));
  }
  void attribute_data(const std::vector<std::int64_t>& values) {
    text_ += fmt::format("[{}]", join(values, to_text));
  }
  void attribute_data(const std::vector<float>& values) {
    if (values.empty()) text_ += "floats";
    text_ += fmt::format("[{}]", join(values, [](float v) { return format_float(v, true); }));
  }
  void attribute_data(const std::vector<std::string>& values) {
    if (values.empty()) text_ += "strings";
    text_ += fmt::format("[{}]", join(values, quoted));
  }
  void attribute_data(const std::vector<Tensor>& values) {
    text_ +=
        fmt::format("tensors[{}]", join(values, [this](const Tensor& t) { return tensor(t); }));
  }
  void attribute_data(const std::unique_ptr<Graph>& value) { graph(*value); }
  void attribute_data(const std::vector<std::unique_ptr<Graph>>& values) {
    text_ += "graphs[";
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ", ";
      graph(*values[i]);
    }
    text_ += "]";
  }

  PrintOptions options_;
  std::size_t indent_ = 0;
  std::string text_;
};

}  // namespace

std::string print(const Model& model, const PrintOptions& options) {
  Printer printer(options);
  printer.model(model);
  return printer.take();
}

std::string print(const Graph& graph, const PrintOptions& options) {
  Printer printer(options);
  printer.graph(graph);
  return printer.take() + "\n";
}

}  // namespace amct::ir
