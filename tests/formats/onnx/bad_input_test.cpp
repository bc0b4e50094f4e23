#include "model_builder.h"

namespace amct::onnx {
namespace {

using namespace std::string_literals;

void expect_error(const std::string& bytes, const std::string& part) {
  const std::string message = error_of([&] { parse(bytes, "bad.onnx"); });
  EXPECT_NE(message.find("bad.onnx"), std::string::npos) << message;
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

void expect_error(const schema::Model& model, const std::string& part) {
  expect_error(model.SerializeAsString(), part);
}

TEST(BadInput, SaysWhatAForeignFileLooksLike) {
  expect_error("", "an empty file");
  expect_error("\x89PNG\r\n\x1a\n"s, "a PNG image");
  expect_error("PK\x03\x04\x14"s, "a zip archive");
  expect_error("\x89HDF\r\n\x1a\n"s, "an HDF5 file");
  expect_error("hello, this is no model\n", "a text file");
  expect_error("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer");
  expect_error("\x80\x02}q\x00."s, "a Python pickle");
  expect_error("\x1c\0\0\0TFL3"s, "a TensorFlow Lite model");
  expect_error("\x93NUMPY\x01\0"s, "a NumPy array");
}

TEST(BadInput, RecognisesTensorFlowGraphs) {
  // GraphDef: field 1 (a node) whose field 1 is its name.
  expect_error(
      "\x0a\x08\x0a\x01x\x12\x03"
      "Add"s,
      "a frozen TensorFlow graph");
  // SavedModel: schema version 1, then a meta graph.
  expect_error("\x08\x01\x12\x02\x0a\x00"s, "a TensorFlow SavedModel");
}

TEST(BadInput, SaysThatAFileIsTruncated) {
  schema::Model model = relu_model();
  add_initializer(*model.mutable_graph(), "w", 1, {100})->set_raw_data(std::string(400, 'x'));
  const std::string bytes = model.SerializeAsString();
  expect_error(bytes.substr(0, bytes.size() / 2), "ends too early");
}

TEST(BadInput, RefusesEveryTruncationOfAModel) {
  const std::string bytes = relu_model().SerializeAsString();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A cut at the end of a field leaves a shorter message that may be whole again.
    try {
      const ir::Model model = parse(bytes.substr(0, size), "cut.onnx");
      verify(*model.graph);
    } catch (const Error& error) {
      EXPECT_FALSE(std::string(error.what()).empty());
    }
  }
}

TEST(BadInput, RefusesMessagesWithoutGraphOrVersion) {
  schema::Model model = empty_model();
  model.clear_graph();
  expect_error(model, "expected an ONNX model");
  model = relu_model();
  model.clear_ir_version();
  expect_error(model, "expected an ONNX model");
}

TEST(BadInput, NamesTheTensorThatNobodyComputes) {
  schema::Model model = relu_model();
  add_node(*model.mutable_graph(), "Add", {"y", "ghost"}, {"z"})->set_name("sum");
  expect_error(model, "node 'sum' (Add) reads 'ghost'");
}

TEST(BadInput, NamesTheNodesOfACycle) {
  schema::Model model = relu_model();
  add_node(*model.mutable_graph(), "Neg", {"b"}, {"a"})->set_name("first");
  add_node(*model.mutable_graph(), "Neg", {"a"}, {"b"})->set_name("second");
  expect_error(model, "cycle through the nodes 'first', 'second'");
}

TEST(BadInput, FindsACycleThroughASubgraph) {
  schema::Model model = relu_model();
  schema::Node* node = add_node(*model.mutable_graph(), "If", {"x"}, {"a"});
  schema::Attribute* attribute = node->add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(5);
  add_node(*attribute->mutable_g(), "Neg", {"a"}, {"inner"});
  declare(attribute->mutable_g()->add_output(), "inner");
  expect_error(model, "cycle");
}

TEST(BadInput, NamesBothProducersOfATensor) {
  schema::Model model = relu_model();
  model.mutable_graph()->mutable_node(0)->set_name("one");
  add_node(*model.mutable_graph(), "Neg", {"x"}, {"y"})->set_name("two");
  expect_error(model, "'y' is defined twice: by node 'one' and by Neg node 'two'");
  model = relu_model();
  add_node(*model.mutable_graph(), "Neg", {"y"}, {"x"});
  expect_error(model, "'x' is defined twice: by a graph input");
  model = relu_model();
  add_node(*model.mutable_graph(), "Split", {"y"}, {"a", "a"});
  expect_error(model, "'a' is defined twice");
}

TEST(BadInput, RefusesDoubleDeclarations) {
  schema::Model model = relu_model();
  declare(model.mutable_graph()->add_input(), "x");
  expect_error(model, "graph input 'x' is listed twice");
  model = relu_model();
  add_initializer(*model.mutable_graph(), "w", 1, {0});
  add_initializer(*model.mutable_graph(), "w", 1, {0});
  expect_error(model, "initializer 'w' is listed twice");
  model = relu_model();
  model.add_opset_import()->set_version(11);
  expect_error(model, "operator set '' is imported in version 17 and in 11");
}

TEST(BadInput, RefusesOutputsThatNobodyComputes) {
  schema::Model model = relu_model();
  declare(model.mutable_graph()->add_output(), "ghost");
  expect_error(model, "graph output 'ghost'");
}

TEST(BadInput, NamesTheInitializerWhoseDataDoNotFit) {
  schema::Model model = relu_model();
  add_initializer(*model.mutable_graph(), "w", 1, {3})->set_raw_data("12345678");
  expect_error(model,
               "initializer 'w' has 8 bytes of data, but its type float32 and shape [3] need 12");
  model = relu_model();
  add_initializer(*model.mutable_graph(), "w", 8, {3})->add_string_data("a");
  expect_error(model, "initializer 'w' has 1 strings, but its shape needs 3");
}

TEST(BadInput, AllocatesNothingForAbsurdDims) {
  schema::Model model = relu_model();
  schema::Tensor* w = add_initializer(*model.mutable_graph(), "w", 1, {});
  w->add_dims(std::int64_t{1} << 40);
  w->set_raw_data("1234");
  expect_error(model, "initializer 'w' has 4 bytes");
  w->add_dims(std::int64_t{1} << 40);
  expect_error(model, "initializer 'w': tensor dimensions are too large");
  w->set_dims(0, -1);
  expect_error(model, "initializer 'w': tensor has the dimension -1");
}

TEST(BadInput, NamesTheAttributeWhoseTensorIsDamaged) {
  schema::Model model = relu_model();
  schema::Node* node = model.mutable_graph()->mutable_node(0);
  node->set_name("n");
  schema::Attribute* attribute = node->add_attribute();
  attribute->set_name("value");
  attribute->set_type(4);
  attribute->mutable_t()->set_data_type(7);
  expect_error(model, "node 'n', attribute 'value': its tensor has 0 bytes");
}

TEST(BadInput, RefusesNodesWithoutOperator) {
  schema::Model model = relu_model();
  model.mutable_graph()->mutable_node(0)->clear_op_type();
  expect_error(model, "has no operator type");
}

TEST(BadInput, StopsAtDeepNesting) {
  schema::Model model = relu_model();
  schema::Graph* graph = model.mutable_graph();
  for (int depth = 0; depth < 1000; ++depth) {
    schema::Attribute* attribute = add_node(*graph, "If", {}, {})->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(5);
    graph = attribute->mutable_g();
  }
  expect_error(model, "expected an ONNX model");
}

TEST(BadInput, ShortensNamesInMessages) {
  schema::Model model = relu_model();
  std::string name(100000, 'n');
  name += '\n';
  declare(model.mutable_graph()->add_output(), name);
  const std::string message = error_of([&] { parse(model); });
  EXPECT_LT(message.size(), 1000U);
}

TEST(BadInput, RefusesFoldersAndMissingFiles) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] { load(folder.path()); }).find("it is a folder"), std::string::npos);
  EXPECT_NE(error_of([&] { load(folder.path() / "no.onnx"); }).find("No such file"),
            std::string::npos);
}

TEST(BadInput, StaysFastWithOneTensorReadVeryOften) {
  schema::Model model = relu_model();
  for (int i = 0; i < 50000; ++i)
    add_node(*model.mutable_graph(), "Neg", {"y", "y"}, {fmt::format("n{}", i).c_str()});
  const ir::Model read = parse(model);
  verify(*read.graph);
  EXPECT_EQ(read.graph->find("y")->uses().size(), 100000U);
}

}  // namespace
}  // namespace amct::onnx
