#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "amct/base/error.h"
#include "amct/formats/onnx/onnx_file.h"
#include "onnx.pb.h"

namespace amct::onnx {

namespace schema = amct::onnx_schema;

/// Messages of small models, and shorthands to read them.
inline schema::Model empty_model() {
  schema::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("g");
  return model;
}

inline schema::ValueInfo* declare(schema::ValueInfo* info, std::string_view name) {
  info->set_name(std::string(name));
  info->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  return info;
}

inline schema::Node* add_node(schema::Graph& graph, std::string_view op,
                              std::initializer_list<const char*> inputs,
                              std::initializer_list<const char*> outputs) {
  schema::Node* node = graph.add_node();
  node->set_op_type(std::string(op));
  for (const char* name : inputs) node->add_input(name);
  for (const char* name : outputs) node->add_output(name);
  return node;
}

inline schema::Tensor* add_initializer(schema::Graph& graph, std::string_view name,
                                       std::int32_t type, std::initializer_list<int> dims) {
  schema::Tensor* tensor = graph.add_initializer();
  tensor->set_name(std::string(name));
  tensor->set_data_type(type);
  for (const int dim : dims) tensor->add_dims(dim);
  return tensor;
}

/// x -> Relu -> y
inline schema::Model relu_model() {
  schema::Model model = empty_model();
  declare(model.mutable_graph()->add_input(), "x");
  declare(model.mutable_graph()->add_output(), "y");
  add_node(*model.mutable_graph(), "Relu", {"x"}, {"y"});
  return model;
}

inline ir::Model parse(const schema::Model& message, const std::filesystem::path& folder = {}) {
  return parse(message.SerializeAsString(), "test.onnx", folder);
}

inline schema::Model message_of(const ir::Model& model) {
  schema::Model message;
  EXPECT_TRUE(message.ParseFromString(serialize(model, ~std::uint64_t{0}, "").bytes));
  return message;
}

/// Message of the Error that `action` throws.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

/// A folder of its own that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "amct_test_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace amct::onnx
