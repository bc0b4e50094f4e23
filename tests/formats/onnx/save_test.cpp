#include "model_builder.h"

namespace amct::onnx {
namespace {

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

schema::Tensor floats(int count, float first) {
  schema::Tensor tensor;
  tensor.set_data_type(1);
  tensor.add_dims(count);
  for (int i = 0; i < count; ++i) tensor.add_float_data(first + static_cast<float>(i));
  return tensor;
}

/// Three constants of 1 MB, two of them in Constant nodes.
schema::Model heavy_model() {
  schema::Model model = relu_model();
  schema::Graph& graph = *model.mutable_graph();
  *graph.add_initializer() = floats(1 << 18, 0.5F);
  graph.mutable_initializer(0)->set_name("w");
  for (const char* name : {"c1", "c2"}) {
    schema::Attribute* value = add_node(graph, "Constant", {}, {name})->add_attribute();
    value->set_name("value");
    value->set_type(4);
    *value->mutable_t() = floats(1 << 18, static_cast<float>(name[1]));
  }
  add_node(graph, "Sum", {"w", "c1", "c2"}, {"z"});
  declare(graph.add_output(), "z");
  return model;
}

/// The tensor of a value, be it an initializer or a Constant node's output.
const ir::Tensor& data_of(const ir::Model& model, const char* name) {
  const ir::Value* value = model.graph->find(name);
  if (value->constant() != nullptr) return *value->constant();
  return std::get<ir::Tensor>(value->producer()->find_attribute("value")->data);
}

TEST(Save, MovesConstantsOfAllKindsToExternalData) {
  const TemporaryFolder folder;
  const ir::Model model = parse(heavy_model());
  SaveOptions options;
  options.external_data_threshold = kMegabyte;
  save(model, folder.path() / "sub/m.onnx", options);
  EXPECT_EQ(names_in(folder.path() / "sub"), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
  EXPECT_LT(std::filesystem::file_size(folder.path() / "sub/m.onnx"), 4096U);
  // The folder may move.
  std::filesystem::rename(folder.path() / "sub", folder.path() / "moved");
  const ir::Model again = load(folder.path() / "moved/m.onnx");
  for (const char* name : {"w", "c1", "c2"})
    EXPECT_EQ(data_of(again, name), data_of(model, name)) << name;
}

TEST(Save, WritesOneFileBelowTheThreshold) {
  const TemporaryFolder folder;
  const ir::Model model = parse(heavy_model());
  save(model, folder.path() / "m.onnx");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"m.onnx"});
  const ir::Model again = load(folder.path() / "m.onnx");
  EXPECT_EQ(message_of(again).SerializeAsString(), message_of(model).SerializeAsString());
}

TEST(Save, UsesTheGivenDataFileName) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.external_data_threshold = 0;
  options.external_data_name = "weights.bin";
  save(parse(heavy_model()), folder.path() / "m.onnx", options);
  EXPECT_EQ(names_in(folder.path()), (std::vector<std::string>{"m.onnx", "weights.bin"}));
  load(folder.path() / "m.onnx");
}

TEST(Save, ReplacesTheFilesThatTheModelWasReadFrom) {
  const TemporaryFolder folder;
  SaveOptions options;
  options.external_data_threshold = 0;
  const auto path = folder.path() / "m.onnx";
  save(parse(heavy_model()), path, options);
  const ir::Model model = load(path);
  save(model, path, options);
  EXPECT_EQ(data_of(load(path), "w"), data_of(model, "w"));
}

TEST(Save, LeavesThePreviousFileUntilCommitted) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.onnx";
  write_file(path, "before");
  {
    const auto staged = stage(parse(relu_model()), path);
  }
  EXPECT_EQ(read_file(path), "before");
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"m.onnx"});
}

TEST(Save, IsDeterministic) {
  const ir::Model model = parse(heavy_model());
  EXPECT_EQ(message_of(model).SerializeAsString(),
            message_of(parse(heavy_model())).SerializeAsString());
  EXPECT_EQ(message_of(model.clone()).SerializeAsString(), message_of(model).SerializeAsString());
}

TEST(Save, SortsNodesThatStandInTheWrongOrder) {
  schema::Model message = relu_model();
  add_node(*message.mutable_graph(), "Neg", {"b"}, {"c"});
  add_node(*message.mutable_graph(), "Neg", {"y"}, {"b"});
  const ir::Model model = parse(message);
  verify(*model.graph);
  const schema::Model written = message_of(model);
  EXPECT_EQ(written.graph().node(1).output(0), "b");
  EXPECT_EQ(written.graph().node(2).output(0), "c");
}

TEST(Save, KeepsWeightsThatAreGraphInputsInVersion3) {
  schema::Model message = relu_model();
  message.set_ir_version(3);
  declare(message.mutable_graph()->add_input(), "w");
  add_initializer(*message.mutable_graph(), "w", 1, {1})->add_float_data(2);
  ir::Model model = parse(message);
  EXPECT_TRUE(model.graph->find("w")->is_graph_input());
  EXPECT_NE(model.graph->find("w")->constant(), nullptr);
  EXPECT_EQ(message_of(model).ir_version(), 3);
  EXPECT_EQ(message_of(model).graph().input_size(), 2);
  // A constant of a pass needs no entry among the inputs from version 4 on.
  model.graph->add_constant("new", ir::Tensor::scalar(1.0F));
  EXPECT_EQ(message_of(model).ir_version(), 4);
}

TEST(Save, ReadsTheLongNameOfTheStandardDomain) {
  schema::Model message = relu_model();
  message.mutable_opset_import(0)->set_domain("ai.onnx");
  message.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  const ir::Model model = parse(message);
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.graph->nodes().front()->domain, "");
  EXPECT_EQ(message_of(model).SerializeAsString(), message.SerializeAsString());
}

TEST(Save, ResolvesNamesOfSubgraphsFromTheInside) {
  schema::Model message = relu_model();
  schema::Attribute* attribute =
      add_node(*message.mutable_graph(), "If", {"x"}, {"z"})->add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(5);
  schema::Graph& inner = *attribute->mutable_g();
  add_node(inner, "Neg", {"x"}, {"y"});
  add_node(inner, "Abs", {"y"}, {"out"});
  declare(inner.add_output(), "out");
  const ir::Model model = parse(message);
  const ir::Graph& graph = *model.graph->nodes().back()->subgraphs()[0];
  const ir::Node& abs = *graph.nodes().back();
  EXPECT_EQ(abs.input(0)->graph(), &graph);
  EXPECT_EQ(graph.nodes().front()->input(0), model.graph->find("x"));
  EXPECT_EQ(message_of(model).SerializeAsString(), message.SerializeAsString());
}

TEST(Save, DropsWhatWasSaidOfValuesThatChangedSince) {
  schema::Model message = relu_model();
  add_initializer(*message.mutable_graph(), "w", 1, {1})->add_float_data(2);
  declare(message.mutable_graph()->add_value_info(), "w");
  ir::Model model = parse(message);
  EXPECT_EQ(message_of(model).graph().value_info_size(), 1);
  model.graph->find("w")->set_constant(ir::Tensor::scalar<std::int8_t>(1));
  EXPECT_EQ(message_of(model).graph().value_info_size(), 0);
}

TEST(Serialize, LeavesBigConstantsToTheEngine) {
  const ir::Model model = parse(heavy_model());
  const Serialized result = serialize(model, 1024, "memory");
  ASSERT_EQ(result.external.size(), 1U);
  EXPECT_EQ(result.external[0], model.graph->find("w"));
  schema::Model message;
  ASSERT_TRUE(message.ParseFromString(result.bytes));
  const schema::Tensor& w = message.graph().initializer(0);
  EXPECT_EQ(w.data_location(), 1);
  EXPECT_EQ(w.external_data(0).value(), "memory");
  EXPECT_FALSE(w.has_raw_data());
  EXPECT_EQ(w.dims(0), 1 << 18);
}

}  // namespace
}  // namespace amct::onnx
