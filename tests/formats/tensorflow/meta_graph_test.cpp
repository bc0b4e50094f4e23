#include <algorithm>
#include <set>

#include "amct/formats/tensorflow/saver_index.h"
#include "fixtures.h"
#include "graph.pb.h"

namespace amct::tensorflow {
namespace {

namespace schema = amct::tensorflow_schema;

schema::MetaGraph message_of(const std::string& bytes) {
  schema::MetaGraph message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

const schema::Node* find(const schema::MetaGraph& meta, const std::string& name) {
  for (const schema::Node& node : meta.graph_def().node())
    if (node.name() == name) return &node;
  return nullptr;
}

std::set<std::string> names(const schema::MetaGraph& meta) {
  std::set<std::string> result;
  for (const schema::Node& node : meta.graph_def().node()) result.insert(node.name());
  return result;
}

TEST(MetaGraph, RoundTripsToTheByte) {
  const std::string bytes = read_file(fixture("train.meta"));
  const std::string written = MetaGraph::parse(bytes, "m").serialize();
  EXPECT_EQ(written.size(), bytes.size());
  EXPECT_EQ(MetaGraph::parse(written, "m").serialize(), written);
}

TEST(MetaGraph, KeepsWhatItDoesNotKnow) {
  schema::MetaGraph message = message_of(read_file(fixture("train.meta")));
  std::string bytes = message.SerializeAsString();
  const std::string unknown("\xba\x3e\x03new", 6);  // field 999
  bytes += unknown;
  EXPECT_NE(MetaGraph::parse(bytes, "m").serialize().find(unknown), std::string::npos);
}

TEST(MetaGraph, SaysWhatAForeignFileLooksLike) {
  const auto parse = [](const std::string& bytes) {
    return [bytes] { MetaGraph::parse(bytes, "a.meta"); };
  };
  expect_error(parse(""), "a.meta");
  expect_error(parse(""), "empty");
  expect_error(parse("meta_info_def {\n}\n"), "text file");
  expect_error(parse("\x89PNG\r\n\x1a\n"), "no MetaGraphDef");
  const std::string bytes = read_file(fixture("train.meta"));
  const std::string graph = message_of(bytes).graph_def().SerializeAsString();
  expect_error(parse(graph), "bare GraphDef");
  expect_error(parse(bytes.substr(0, bytes.size() / 2)), "damaged");
  expect_error([] { MetaGraph::load("nowhere.meta"); }, "nowhere.meta");
  schema::MetaGraph twice = message_of(bytes);
  *twice.mutable_graph_def()->add_node() = twice.graph_def().node(0);
  expect_error(parse(twice.SerializeAsString()), "two nodes have the name 'x'");
}

TEST(MetaGraph, FindsConvolutionsAndTheirKernels) {
  MetaGraph meta = MetaGraph::load(fixture("train.meta"));
  const CheckpointReader checkpoint(fixture("train"));
  meta.check_belongs_to(checkpoint);
  const std::vector<Convolution> convs = meta.convolutions(checkpoint);
  ASSERT_EQ(convs.size(), 2U);
  EXPECT_EQ(convs[0].name, "a/Conv2D");
  EXPECT_EQ(convs[0].kernel, "a/kernel");
  EXPECT_EQ(convs[0].refusal, "");
  EXPECT_EQ(convs[0].out_channels, 6);
  EXPECT_EQ(convs[0].output_positions, 36);
  EXPECT_EQ(convs[1].in_channels, 6);
  EXPECT_EQ(convs[1].stride_h, 2);
  EXPECT_EQ(convs[1].output_positions, 4);
  EXPECT_EQ(meta.read_kernel(checkpoint, "a/kernel"), checkpoint.read("a/kernel"));
}

Convolution with_attribute(const std::string& key,
                           const std::function<void(schema::AttrValue&)>& change) {
  schema::MetaGraph message = message_of(read_file(fixture("train.meta")));
  for (schema::Node& node : *message.mutable_graph_def()->mutable_node())
    if (node.name() == "b/Conv2D")
      for (schema::Attr& attr : *node.mutable_attr())
        if (attr.key() == key) change(*attr.mutable_value());
  const CheckpointReader checkpoint(fixture("train"));
  return MetaGraph::parse(message.SerializeAsString(), "m").convolutions(checkpoint)[1];
}

TEST(MetaGraph, GivesAReasonForWhatItCannotSplit) {
  EXPECT_EQ(with_attribute("padding", [](auto& value) { value.set_s("FULL"); }).refusal,
            "its padding is 'FULL', expected SAME, VALID or EXPLICIT");
  EXPECT_EQ(with_attribute("data_format", [](auto& value) { value.set_s("HWNC"); }).refusal,
            "its data_format is 'HWNC', expected NHWC or NCHW");
  EXPECT_EQ(with_attribute("strides", [](auto& value) { value.mutable_list()->clear_i(); }).refusal,
            "its strides are not four numbers");
  EXPECT_EQ(
      with_attribute("strides", [](auto& value) { value.mutable_list()->set_i(0, 2); }).refusal,
      "it has strides along batch or channels");
}

TEST(MetaGraph, NamesWhatTheCheckpointLacks) {
  const MetaGraph meta = MetaGraph::load(fixture("train.meta"));
  const CheckpointReader other(fixture("types"));
  expect_error([&] { meta.check_belongs_to(other); },
               "the checkpoint has no 'bias', 'bias/Momentum', 'a/kernel', 'a/kernel/Momentum', "
               "'b/kernel' and 1 more");
}

struct Split {
  Split() : checkpoint(fixture("train")), meta(MetaGraph::load(fixture("train.meta"))) {
    before = message_of(meta.serialize());
    meta.convolutions(checkpoint);
    const KernelSplit splits[] = {{"a/kernel", 5, true}, {"b/kernel", 7, false}};
    result = meta.split(splits, checkpoint);
    after = message_of(meta.serialize());
  }
  CheckpointReader checkpoint;
  MetaGraph meta;
  SplitResult result;
  schema::MetaGraph before;
  schema::MetaGraph after;
};

TEST(Split, DescribesWhatItDid) {
  const Split split;
  ASSERT_EQ(split.result.kernels.size(), 2U);
  const SplitKernel& joint = split.result.kernels[0];
  EXPECT_EQ(joint.replaced, (std::vector<std::string>{"a/kernel/part_0", "a/kernel/part_1"}));
  EXPECT_EQ(joint.first.name, "a/kernel_decomp_first");
  EXPECT_EQ(joint.first.dims, (std::array<std::int64_t, 4>{3, 1, 4, 5}));
  EXPECT_EQ(joint.last.dims, (std::array<std::int64_t, 4>{1, 3, 5, 6}));
  EXPECT_FALSE(joint.resource);
  const SplitConvolution& conv = split.result.convolutions[1];
  EXPECT_EQ(conv.name, "b/Conv2D");
  EXPECT_TRUE(conv.has_bias);
  EXPECT_EQ(conv.first.strides, (std::vector<std::int64_t>{1, 1, 2, 1}));  // the width first
  EXPECT_EQ(conv.last.strides, (std::vector<std::int64_t>{1, 2, 1, 1}));
  EXPECT_EQ(split.result.dropped_keys, (std::vector<std::string>{"a/kernel", "a/kernel/Momentum",
                                                                 "b/kernel", "b/kernel/Momentum"}));
  EXPECT_GT(split.result.removed_training_nodes, 0U);
}

TEST(Split, LeavesNoTraceOfWhatIsGone) {
  const Split split;
  const std::set<std::string> present = names(split.after);
  for (const std::string& name : names(split.before)) {
    if (present.contains(name)) continue;
    for (const schema::Node& node : split.after.graph_def().node()) {
      for (const std::string& input : node.input())
        EXPECT_NE(parse_input(input).node, name) << node.name();
      const schema::AttrValue* places = find_attr(node, "_class");
      if (places == nullptr) continue;
      for (const std::string& place : places->list().s())
        EXPECT_NE(place, "loc:@" + name) << node.name();
    }
    for (const auto& collection : split.after.collection_def())
      for (const std::string& value : collection.value().node_list().value())
        EXPECT_NE(parse_input(value).node, name) << collection.key();
  }
  for (const schema::Node& node : split.after.graph_def().node())
    for (const std::string& input : node.input())
      EXPECT_TRUE(present.contains(parse_input(input).node)) << node.name() << " reads " << input;
}

TEST(Split, KeepsTheOldNameAsAnIdentityAndReadsTheSecondConvolution) {
  const Split split;
  const schema::Node* alias = find(split.after, "b/Conv2D");
  ASSERT_NE(alias, nullptr);
  EXPECT_EQ(alias->op(), "Identity");
  EXPECT_EQ(alias->input(0), "b/Conv2D_decomp_last");
  EXPECT_EQ(find(split.after, "BiasAdd")->input(0), "b/Conv2D_decomp_last");
  EXPECT_EQ(find(split.after, "b/Conv2D_decomp_first")->input(0), "a/Conv2D_decomp_last");
}

TEST(Split, ReplacesVariablesInTheirCollections) {
  const Split split;
  std::set<std::string> variables;
  for (const auto& collection : split.after.collection_def())
    if (collection.key() == "trainable_variables")
      for (const std::string& bytes : collection.value().bytes_list().value()) {
        schema::Variable variable;
        ASSERT_TRUE(variable.ParseFromString(bytes));
        EXPECT_FALSE(variable.has_save_slice_info_def());
        EXPECT_NE(find(split.after, variable.initializer_name()), nullptr);
        variables.insert(variable.variable_name());
      }
  EXPECT_EQ(variables,
            (std::set<std::string>{"a/kernel_decomp_first:0", "a/kernel_decomp_last:0",
                                   "b/kernel_decomp_first:0", "b/kernel_decomp_last:0", "bias:0"}));
}

TEST(Split, OfNothingChangesNothing) {
  MetaGraph meta = MetaGraph::load(fixture("train.meta"));
  const std::string before = meta.serialize();
  const SplitResult result = meta.split({}, CheckpointReader(fixture("train")));
  EXPECT_TRUE(result.convolutions.empty());
  EXPECT_TRUE(result.dropped_keys.empty());
  EXPECT_EQ(meta.serialize(), before);
}

TEST(SliceSpec, ReadsWhatTensorFlowWrites) {
  const auto spec = parse_slice("3 3 4 6 0,3:-:2,2:0,6");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->dims, (std::vector<std::int64_t>{3, 3, 4, 6}));
  EXPECT_EQ(spec->ranges[1], SliceRange());
  EXPECT_EQ(spec->ranges[2], (SliceRange{2, 2}));
  for (const char* bad :
       {"", "3", "3 ", "3 x", "3 0", "3 0,", "3 0,1:-", "3 -1,1", "x 0,1", "3 0,1 "})
    EXPECT_FALSE(parse_slice(bad)) << bad;
}

}  // namespace
}  // namespace amct::tensorflow
