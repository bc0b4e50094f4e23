#include <algorithm>
#include <optional>
#include <utility>

#include "amct/base/error.h"
#include "amct/ir/text.h"
#include "amct/ir/text_elements.h"
#include "amct/ir/text_reader.h"

namespace amct::ir {
namespace {

using Kind = Token::Kind;

constexpr int kMaxNesting = 100;

/// A number of an attribute: its type is known only when the list has been read.
struct Number {
  Token place;
  std::string text;
  bool is_float() const { return text.find_first_of(".en") != std::string::npos; }
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view name) : in_(text, name) {}

  Model parse_model() {
    Model model;
    while (!in_.is_word("graph")) model_line(model);
    const Token place = in_.token();
    graph(*model.graph);
    if (in_.token().kind != Kind::kEnd) in_.fail_expected("the end of the text");
    try {
      verify(*model.graph);
    } catch (const Error& error) {
      in_.fail(place, error.what());
    }
    return model;
  }

 private:
  void model_line(Model& model);
  void graph(Graph& graph);
  void statement(Graph& graph);
  void constant(Graph& graph);
  void node(Graph& graph);
  void take_input(Graph& graph, Node& node);
  std::vector<Value*> take_results(Graph& graph);
  Value& constant_value(Graph& graph);
  Value* find(const Graph& graph, const Token& name) const;
  Value* new_value(Graph& graph);
  bool take_declaration(Value& value);
  void take_attribute(Node& node);
  Attribute::Data take_attribute_data(Node& node);
  Attribute::Data take_list();
  std::vector<std::string> take_strings();
  std::vector<Number> take_numbers();
  Number take_number();
  std::unique_ptr<Graph> take_graph(Node& node);
  template <typename T>
  T as(const Number& number) const;
  template <typename T>
  std::vector<T> all_as(const std::vector<Number>& numbers) const;

  TextReader in_;
  int nesting_ = 0;
};

void Parser::model_line(Model& model) {
  if (in_.accept_word("ir_version")) {
    model.ir_version = in_.take_integer();
  } else if (in_.accept_word("opset")) {
    std::string domain = in_.take_string();
    model.opset_imports[std::move(domain)] = in_.take_integer();
  } else if (in_.accept_word("producer")) {
    model.producer_name = in_.take_string();
    model.producer_version = in_.take_string();
  } else if (in_.accept_word("metadata")) {
    std::string key = in_.take_string();
    model.metadata.emplace_back(std::move(key), in_.take_string());
  } else if (in_.accept_word("function")) {
    model.functions.push_back(in_.take_string());
  } else if (in_.is_word("extra")) {
    model.extra = in_.take_optional_hex("extra");
  } else {
    in_.fail_expected(
        "'graph', 'ir_version', 'opset', 'producer', 'metadata', 'function' or 'extra'");
  }
}

void Parser::graph(Graph& graph) {
  struct Output {
    Token name;
    std::optional<ValueType> type;
  };
  if (++nesting_ > kMaxNesting) in_.fail("graphs are nested too deeply (100 at most)");
  if (!in_.accept_word("graph")) in_.fail_expected("'graph'");
  graph.name = in_.take_word("the graph's name");
  in_.expect("(");
  in_.list(")", [&] {
    Value* input = new_value(graph);
    take_declaration(*input);
    graph.add_input(input);
  });
  in_.expect("->");
  std::vector<Output> outputs;
  in_.expect("(");
  in_.list(")", [&] {
    outputs.push_back({in_.token(), std::nullopt});
    in_.take(Kind::kValue, "an output %name");
    if (in_.accept(":")) outputs.back().type = in_.take_type();
  });
  in_.expect("{");
  while (!in_.is_symbol("}")) statement(graph);
  for (const Output& output : outputs) {
    Value* value = find(graph, output.name);
    graph.add_output(value);
    if (output.type) value->type = *output.type;
  }
  in_.advance();
  --nesting_;
}

Value* Parser::find(const Graph& graph, const Token& name) const {
  Value* value = graph.find_visible(name.text);
  if (value == nullptr)
    in_.fail(name, fmt::format("%{} is not defined before this place", name.text));
  return value;
}

Value* Parser::new_value(Graph& graph) {
  const Token place = in_.token();
  std::string name = in_.take(Kind::kValue, "a new %name");
  if (graph.find(name) != nullptr) in_.fail(place, fmt::format("%{} is defined twice", name));
  return graph.add_value(std::move(name));
}

/// ": type extra hex" behind a value's name; returns whether a type was given.
bool Parser::take_declaration(Value& value) {
  const bool typed = in_.accept(":");
  if (typed) value.type = in_.take_type();
  value.extra = in_.take_optional_hex("extra");
  return typed;
}

void Parser::statement(Graph& graph) {
  if (in_.accept_word("extra")) {
    graph.extra = in_.take_hex();
  } else if (in_.accept_word("const")) {
    constant(graph);
  } else if (in_.accept_word("opaque_const")) {
    Value& value = constant_value(graph);
    if (!value.is_graph_input()) take_declaration(value);
    value.opaque_constant = true;
  } else {
    node(graph);
  }
}

/// A constant may be a graph input that was declared before.
Value& Parser::constant_value(Graph& graph) {
  Value* known = in_.token().kind == Kind::kValue ? graph.find(in_.token().text) : nullptr;
  const bool again = known != nullptr && known->is_graph_input() && known->constant() == nullptr &&
                     !known->opaque_constant;
  if (!again) return *new_value(graph);
  in_.advance();
  return *known;
}

void Parser::constant(Graph& graph) {
  Value& value = constant_value(graph);
  const bool typed = value.is_graph_input() || take_declaration(value);
  in_.expect("=");
  Tensor tensor = in_.take_tensor();
  if (!typed) {
    value.type = {tensor.type(), std::vector<Dim>(), {}};
    for (const std::int64_t dim : tensor.dims()) value.type.shape->push_back({dim, {}});
  }
  value.set_constant(std::move(tensor));
  value.constant_extra = in_.take_optional_hex("constant_extra");
}

std::vector<Value*> Parser::take_results(Graph& graph) {
  std::vector<Value*> results;
  if (in_.accept("(")) {
    in_.expect(")");
    return results;
  }
  do {
    if (in_.accept_word("_")) {
      results.push_back(graph.add_value(""));
    } else {
      results.push_back(new_value(graph));
      take_declaration(*results.back());
    }
  } while (in_.accept(","));
  return results;
}

void Parser::node(Graph& graph) {
  std::vector<Value*> results = take_results(graph);
  in_.expect("=");
  std::string op_type = in_.take_word("an operator");
  std::string domain;
  if (in_.accept("::")) {
    domain = std::move(op_type);
    op_type = in_.take_word("an operator");
  }
  Node& node = *graph.add_node(std::move(op_type), {}, results);
  node.domain = std::move(domain);
  if (in_.token().kind == Kind::kNode) node.name = in_.take(Kind::kNode, "@name");
  in_.expect("(");
  in_.list(")", [&] { take_input(graph, node); });
  if (in_.accept("{")) in_.list("}", [&] { take_attribute(node); });
  node.extra = in_.take_optional_hex("extra");
}

void Parser::take_input(Graph& graph, Node& node) {
  const std::size_t index = node.inputs().size();
  if (in_.accept_word("_")) {
    node.resize_inputs(index + 1);
    return;
  }
  if (in_.token().kind != Kind::kValue) in_.fail_expected("an input %name or _");
  Value* value = find(graph, in_.token());
  if (value->producer() == &node) in_.fail(fmt::format("%{} reads itself", in_.token().text));
  node.set_input(index, value);
  in_.advance();
}

void Parser::take_attribute(Node& node) {
  Attribute attribute;
  attribute.name = in_.take_word("an attribute's name");
  in_.expect("=");
  attribute.data = take_attribute_data(node);
  attribute.extra = in_.take_optional_hex("extra");
  node.attributes.push_back(std::move(attribute));
}

Attribute::Data Parser::take_attribute_data(Node& node) {
  if (in_.token().kind == Kind::kString) return in_.take_string();
  if (in_.at_number()) {
    const Number number = take_number();
    if (number.is_float()) return as<float>(number);
    return as<std::int64_t>(number);
  }
  if (in_.is_symbol("[")) return take_list();
  if (in_.accept_word("ints")) return all_as<std::int64_t>(take_numbers());
  if (in_.accept_word("floats")) return all_as<float>(take_numbers());
  if (in_.accept_word("strings")) return take_strings();
  if (in_.accept_word("opaque")) return OpaqueAttribute{in_.take_hex()};
  if (in_.is_word("graph")) return take_graph(node);
  if (in_.accept_word("graphs")) {
    std::vector<std::unique_ptr<Graph>> graphs;
    in_.expect("[");
    in_.list("]", [&] { graphs.push_back(take_graph(node)); });
    return graphs;
  }
  if (in_.accept_word("tensors")) {
    std::vector<Tensor> tensors;
    in_.expect("[");
    in_.list("]", [&] { tensors.push_back(in_.take_tensor()); });
    return tensors;
  }
  if (in_.token().kind == Kind::kWord) return in_.take_tensor();
  in_.fail_expected("an attribute's value");
}

Number Parser::take_number() {
  Token place = in_.token();
  return {std::move(place), in_.take_number_text()};
}

template <typename T>
T Parser::as(const Number& number) const {
  T value{};
  const char* problem =
      store_element(data_type_of<T>(), number.text, reinterpret_cast<std::byte*>(&value));
  if (problem != nullptr) in_.fail(number.place, fmt::format("'{}' {}", number.text, problem));
  return value;
}

template <typename T>
std::vector<T> Parser::all_as(const std::vector<Number>& numbers) const {
  std::vector<T> values;
  for (const Number& number : numbers) values.push_back(as<T>(number));
  return values;
}

std::vector<Number> Parser::take_numbers() {
  std::vector<Number> numbers;
  in_.expect("[");
  in_.list("]", [&] { numbers.push_back(take_number()); });
  return numbers;
}

std::vector<std::string> Parser::take_strings() {
  std::vector<std::string> strings;
  in_.expect("[");
  in_.list("]", [&] { strings.push_back(in_.take_string()); });
  return strings;
}

/// A list without a word before it: strings, or numbers, floats when one of them is written so.
Attribute::Data Parser::take_list() {
  in_.expect("[");
  if (in_.token().kind == Kind::kString) {
    std::vector<std::string> strings;
    in_.list("]", [&] { strings.push_back(in_.take_string()); });
    return strings;
  }
  std::vector<Number> numbers;
  in_.list("]", [&] { numbers.push_back(take_number()); });
  if (std::ranges::any_of(numbers, &Number::is_float)) return all_as<float>(numbers);
  return all_as<std::int64_t>(numbers);
}

std::unique_ptr<Graph> Parser::take_graph(Node& node) {
  auto inner = std::make_unique<Graph>();
  inner->set_parent_node(&node);
  graph(*inner);
  return inner;
}

}  // namespace

Model parse_text(std::string_view text, std::string_view name) {
  return Parser(text, name).parse_model();
}

}  // namespace amct::ir
