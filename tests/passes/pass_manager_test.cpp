#include "amct/passes/pass_manager.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "amct/base/error.h"
#include "amct/ir/text.h"
#include "amct/passes/pipelines.h"
#include "case_file.h"
#include "model_builder.h"

namespace amct::passes {
namespace {

namespace fs = std::filesystem;

/// Takes away what the last node reads: the graph is broken afterwards.
class BreakGraph final : public Pass {
 public:
  std::string_view name() const override { return "break_graph"; }
  std::size_t run(ir::Model& model) override {
    ir::Graph& graph = *model.graph;
    graph.nodes().back()->set_input(0, graph.add_value("never_computed"));
    return 1;
  }
};

class ThrowError final : public Pass {
 public:
  std::string_view name() const override { return "throw_error"; }
  std::size_t run(ir::Model& model) override {
    model.graph->remove_node(model.graph->nodes().back().get());
    raise(ErrorCode::kUnsupported, "no way");
  }
};

ModelBuilder conv_bn() {
  ModelBuilder build;
  ir::Node* conv = build.node(
      "Conv", "c", {build.input("x", {1, 3, 4, 4}), build.random("w", {2, 3, 1, 1})}, "t");
  build.output(build.batch_norm("n", conv->output(), 2, "y"));
  return build;
}

template <typename Broken>
Pipeline just() {
  Pipeline pipeline;
  pipeline.push_back(std::make_unique<Broken>());
  return pipeline;
}

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("amct_passes_{}", ::getpid())) {}
  ~Folder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TEST(PassManager, RecordsNamesChangesAndTime) {
  ModelBuilder build = conv_bn();
  const auto records = PassManager().run(build.model, make_prepare_pipeline({}));
  ASSERT_EQ(records.size(), 11U);
  EXPECT_EQ(records.front().name, "name_nodes");
  for (const PassRecord& record : records) {
    EXPECT_EQ(record.changes, record.name == "fuse_conv_bn" ? 1U : 0U) << record.name;
    EXPECT_GE(record.seconds, 0.0);
  }
}

TEST(PassManager, LeavesOutPassesByName) {
  ModelBuilder build = conv_bn();
  PassManagerOptions options;
  options.skip_passes = {"fuse_conv_bn"};
  EXPECT_EQ(PassManager(options).run(build.model, make_prepare_pipeline({})).size(), 10U);
  EXPECT_EQ(build.operators(), "Conv BatchNormalization");
  options.skip_passes = {"fuse_everything"};
  EXPECT_THROW(PassManager(options).run(build.model, make_prepare_pipeline({})), Error);
}

TEST(PassManager, WithoutFusionLeavesEveryLayer) {
  ModelBuilder build = conv_bn();
  PassManager().run(build.model, make_prepare_pipeline({false, {}}));
  EXPECT_EQ(build.operators(), "Conv BatchNormalization");
}

TEST(PassManager, PutsABrokenModelBackAndLeavesAReproducer) {
  const Folder folder;
  ModelBuilder build = conv_bn();
  const std::string before = ir::print(build.model);
  PassManagerOptions options;
  options.reproducer_dir = folder.path();
  try {
    PassManager(options).run(build.model, just<BreakGraph>());
    FAIL() << "a broken graph must be reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInternal);
    EXPECT_NE(std::string(error.what()).find("break_graph"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("break_graph.txt"), std::string::npos);
  }
  EXPECT_EQ(ir::print(build.model), before);
  const CaseFile reproducer = read_case(folder.path() / "break_graph.txt");
  EXPECT_EQ(reproducer.pipeline, std::vector<std::string>{"break_graph"});
  EXPECT_EQ(ir::print(ir::parse_text(reproducer.before, "before")), before);
}

TEST(PassManager, KeepsThePassesOwnErrorCode) {
  ModelBuilder build = conv_bn();
  try {
    PassManager().run(build.model, just<ThrowError>());
    FAIL() << "the error must come through";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("no way"), std::string::npos);
  }
  EXPECT_EQ(build.operators(), "Conv BatchNormalization");
}

TEST(MakePass, KnowsEveryPassOfThePipeline) {
  for (const auto& pass : make_prepare_pipeline({}))
    EXPECT_EQ(make_pass(pass->name(), {})->name(), pass->name());
  EXPECT_THROW(make_pass("fuse_everything", {}), Error);
}

}  // namespace
}  // namespace amct::passes
