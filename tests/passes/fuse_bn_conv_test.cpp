#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;
using Settings = std::vector<std::pair<std::string, ModelBuilder::Setting>>;

/// x -> BatchNormalization n -> `op` c -> y
struct BnConvModel : ModelBuilder {
  ir::Node* bn;
  ir::Node* layer;
  BnConvModel(const std::string& op, const Dims& x, const Dims& w, const Settings& settings = {},
              std::int64_t bias = 0) {
    bn = batch_norm("n", input("x", x), x[1], "t");
    std::vector<ir::Value*> inputs = {bn->output(), random("w", w)};
    if (bias > 0) inputs.push_back(random("b", {bias}));
    layer = node(op, "c", inputs, "y", settings);
    output(layer);
  }
};

struct Case {
  const char* op;
  Dims x, w;
  Settings settings;
  std::int64_t bias;
  const char* after;  // operators
};

TEST(FuseBnConv, FoldsIntoLayersWithoutPadding) {
  const std::int64_t one = 1;
  const std::int64_t two = 2;
  const Case cases[] = {
      {"Conv", {1, 4, 5, 5}, {3, 4, 3, 3}, {{"strides", Dims{2, 2}}}, 3, "Conv"},
      {"Conv", {1, 4, 5, 5}, {6, 2, 3, 3}, {{"group", two}, {"pads", Dims{0, 0, 0, 0}}}, 0, "Conv"},
      {"Conv",
       {1, 4, 6},
       {4, 1, 2},
       {{"group", std::int64_t{4}}, {"dilations", Dims{2}}},
       4,
       "Conv"},
      {"Conv", {1, 2, 3, 3, 3}, {2, 2, 2, 2, 2}, {}, 0, "Conv"},
      {"Gemm", {2, 3}, {3, 5}, {}, 5, "Gemm"},
      {"Gemm", {2, 3}, {5, 3}, {{"transB", one}}, 0, "Gemm"},
      {"MatMul", {2, 3}, {3, 5}, {}, 0, "MatMul Add"}};
  for (const Case& c : cases) {
    BnConvModel build(c.op, c.x, c.w, c.settings, c.bias);
    EXPECT_EQ(run_checked(build, fuse_bn_conv({})), 1U) << c.op;
    EXPECT_EQ(build.operators(), c.after);
    EXPECT_EQ(build.layer->input(0)->name(), "x");
  }
}

TEST(FuseBnConv, AddsNothingBehindAMatMulWhenThereIsNoShift) {
  BnConvModel build("MatMul", {2, 3}, {3, 5});
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}})
    build.bn->set_input(i, build.constant("zero", {3}, {0, 0, 0}));
  EXPECT_EQ(run_checked(build, fuse_bn_conv({})), 1U);
  EXPECT_EQ(build.operators(), "MatMul");
}

TEST(FuseBnConv, LeavesWhatHasNoExactForm) {
  const Case cases[] = {{"Conv", {1, 4, 5, 5}, {3, 4, 3, 3}, {{"pads", Dims{0, 0, 1, 0}}}, 3, ""},
                        {"ConvTranspose", {1, 4, 5, 5}, {4, 2, 3, 3}, {}, 0, ""},
                        {"Gemm", {3, 2}, {3, 5}, {{"transA", std::int64_t{1}}}, 0, ""},
                        {"MatMul", {2, 3, 3}, {3, 5}, {}, 0, ""}};
  for (const Case& c : cases) {
    BnConvModel build(c.op, c.x, c.w, c.settings, c.bias);
    EXPECT_EQ(run_checked(build, fuse_bn_conv({})), 0U) << c.op;
  }
  BnConvModel same("Conv", {1, 4, 5, 5}, {3, 4, 3, 3}, {{"auto_pad", std::string("SAME_UPPER")}});
  EXPECT_EQ(fuse_bn_conv({})->run(same.model), 0U);
}

TEST(FuseBnConv, LeavesSharedExposedAndListedNodes) {
  const auto make = [] { return BnConvModel("Conv", {1, 4, 5, 5}, {3, 4, 3, 3}); };
  BnConvModel shared = make();
  shared.output(shared.node("Relu", "r", {shared.bn->output()}, "z"));
  EXPECT_EQ(run_checked(shared, fuse_bn_conv({})), 0U);
  BnConvModel exposed = make();
  exposed.output(exposed.bn);
  EXPECT_EQ(run_checked(exposed, fuse_bn_conv({})), 0U);
  BnConvModel listed = make();
  EXPECT_EQ(run_checked(listed, fuse_bn_conv({"c"})), 0U);
  BnConvModel weight("Conv", {3, 4, 3, 3}, {3, 4, 3, 3});
  weight.layer->set_input(0, weight.graph().find("w"));
  weight.layer->set_input(1, weight.bn->output());
  EXPECT_EQ(fuse_bn_conv({})->run(weight.model), 0U) << "the normalization feeds the weight";
}

}  // namespace
}  // namespace amct::passes
