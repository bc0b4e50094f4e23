#include <fmt/core.h>

#include <cmath>

#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;
using ir::DataType;
using ir::Tensor;

/// A chain of nodes on constants whose result meets the input x in a Mul.
struct FoldModel : ModelBuilder {
  explicit FoldModel(std::int64_t opset = 13) : ModelBuilder(opset) {}
  /// The folded tensor; null when `value` was not folded.
  const Tensor* fold(ir::Node* last) {
    output(node("Custom", "end", {input("x", {1}), last->output()}, "y"));
    ir::verify(graph());
    fold_constants()->run(model);
    ir::verify(graph());
    return graph().find("y")->producer()->input(1)->constant();
  }
};

std::vector<float> numbers(const Tensor* tensor) {
  if (tensor == nullptr || tensor->type() != DataType::kFloat) return {};
  const auto values = tensor->values<float>();
  return {values.begin(), values.end()};
}

TEST(FoldConstants, TurnsConstantNodesIntoInitializers) {
  FoldModel tensor;
  ir::Node* node = tensor.node("Constant", "k", {}, "w");
  node->set_attribute("value", Tensor::of<float>({2}, std::vector<float>{1, 2}));
  EXPECT_EQ(numbers(tensor.fold(node)), (std::vector<float>{1, 2}));
  EXPECT_NE(tensor.graph().find("w"), nullptr) << "the name stays";
  FoldModel floats;
  EXPECT_EQ(floats.fold(floats.node("Constant", "k", {}, "w", {{"value_float", 2.5F}}))->rank(),
            0U);
  FoldModel ints;
  const Tensor* list = ints.fold(ints.node("Constant", "k", {}, "w", {{"value_ints", Dims{4, 5}}}));
  EXPECT_EQ(ir::to_int64(*list), (Dims{4, 5}));
  FoldModel text;
  EXPECT_EQ(text.fold(text.node("Constant", "k", {}, "w", {{"value_string", std::string("s")}})),
            nullptr);
}

TEST(FoldConstants, CastsHalfAndDoubleToFloat) {
  FoldModel half;
  Tensor bits = Tensor::zeros(DataType::kFloat16, {3});
  auto values = bits.mutable_values<std::uint16_t>();
  values[0] = 0x3C00;
  values[1] = 0xC000;
  values[2] = 0x0001;
  EXPECT_EQ(numbers(half.fold(half.node("Cast", "c", {half.graph().add_constant("h", bits)}, "w",
                                        {{"to", std::int64_t{1}}}))),
            (std::vector<float>{1.0F, -2.0F, std::ldexp(1.0F, -24)}));
  EXPECT_EQ(half.graph().find("h"), nullptr);
  FoldModel wide;
  const std::vector<double> d = {0.1, -1e300};
  EXPECT_EQ(numbers(wide.fold(
                wide.node("Cast", "c", {wide.graph().add_constant("d", Tensor::of<double>({2}, d))},
                          "w", {{"to", std::int64_t{1}}}))),
            (std::vector<float>{0.1F, -std::numeric_limits<float>::infinity()}));
}

TEST(FoldConstants, LeavesCastsWhoseResultIsNotDefined) {
  for (const float value : {3e9F, -3e9F, std::numeric_limits<float>::quiet_NaN()}) {
    FoldModel build;
    EXPECT_EQ(build.fold(build.node("Cast", "c", {build.constant("k", {1}, {value})}, "w",
                                    {{"to", std::int64_t{6}}})),
              nullptr);
  }
  FoldModel fine;
  EXPECT_EQ(ir::to_int64(*fine.fold(fine.node("Cast", "c", {fine.constant("k", {2}, {-2.9F, 2.9F})},
                                              "w", {{"to", std::int64_t{6}}}))),
            (Dims{-2, 2}));
}

TEST(FoldConstants, Transposes) {
  FoldModel reversed;
  EXPECT_EQ(numbers(reversed.fold(reversed.node(
                "Transpose", "t", {reversed.constant("k", {2, 3}, {1, 2, 3, 4, 5, 6})}, "w"))),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
  FoldModel build;
  ir::Value* source = build.random("k", {2, 3, 4, 5});
  const Tensor before = *source->constant();
  const Dims order = {2, 0, 3, 1};
  const Tensor* after = build.fold(build.node("Transpose", "t", {source}, "w", {{"perm", order}}));
  ASSERT_NE(after, nullptr);
  ASSERT_EQ(after->dims(), (Dims{4, 2, 5, 3}));
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t d = 0; d < 5; ++d)
          EXPECT_EQ(after->values<float>()[((c * 2 + a) * 5 + d) * 3 + b],
                    before.values<float>()[((a * 3 + b) * 4 + c) * 5 + d]);
  for (const Dims& bad : {Dims{0}, Dims{0, 0}, Dims{0, 2}, Dims{-1, 0}}) {
    FoldModel broken;
    EXPECT_EQ(broken.fold(broken.node("Transpose", "t", {broken.random("k", {2, 3})}, "w",
                                      {{"perm", bad}})),
              nullptr);
  }
}

struct ShapeCase {
  const char* op;
  std::int64_t opset;
  Dims from;
  Dims argument;
  std::optional<Dims> to;
};

TEST(FoldConstants, ChangesShapes) {
  const std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const ShapeCase cases[] = {{"Reshape", 13, {2, 3}, {3, -1}, Dims{3, 2}},
                             {"Reshape", 13, {2, 3}, {0, 3, 1}, Dims{2, 3, 1}},
                             {"Reshape", 13, {2, 3}, {-1, -1}, std::nullopt},
                             {"Reshape", 13, {2, 3}, {4, -1}, std::nullopt},
                             {"Reshape", 13, {2, 3}, {kMax, kMax, -1}, std::nullopt},
                             {"Reshape", 13, {2, 3}, {7}, std::nullopt},
                             {"Reshape", 13, {2, 3}, {-2, 3}, std::nullopt},
                             {"Squeeze", 11, {1, 3, 1}, {0}, Dims{3, 1}},
                             {"Squeeze", 13, {1, 3, 1}, {-1}, Dims{1, 3}},
                             {"Squeeze", 13, {1, 3, 1}, {1}, std::nullopt},
                             {"Unsqueeze", 11, {3}, {0, 2}, Dims{1, 3, 1}},
                             {"Unsqueeze", 13, {3}, {-1}, Dims{3, 1}},
                             {"Unsqueeze", 13, {3}, {0, 0}, std::nullopt},
                             {"Unsqueeze", 13, {3}, {5}, std::nullopt},
                             {"Flatten", 13, {2, 3, 4}, {2}, Dims{6, 4}},
                             {"Flatten", 13, {2, 3, 4}, {0}, Dims{1, 24}},
                             {"Flatten", 13, {2, 3, 4}, {-1}, Dims{6, 4}},
                             {"Flatten", 13, {2, 3, 4}, {4}, std::nullopt}};
  for (const ShapeCase& c : cases) {
    FoldModel build(c.opset);
    ir::Node* node = build.node(c.op, "s", {build.random("k", c.from)}, "w");
    if (std::string(c.op) == "Flatten")
      node->set_attribute("axis", c.argument[0]);
    else if (std::string(c.op) == "Reshape" || c.opset >= 13)
      node->set_input(1, build.int_constant("a", c.argument));
    else
      node->set_attribute("axes", c.argument);
    const Tensor* result = build.fold(node);
    ASSERT_EQ(result != nullptr, c.to.has_value()) << c.op;
    if (result != nullptr) {
      EXPECT_EQ(result->dims(), *c.to) << c.op;
    }
  }
}

TEST(FoldConstants, MultipliesAndDivides) {
  FoldModel build;
  ir::Value* k = build.constant("k", {2, 3}, {1, 2, 3, 4, 5, 6});
  ir::Node* mul = build.node("Mul", "m", {build.constant("c", {2, 1}, {10, 100}), k}, "t");
  ir::Node* div = build.node("Div", "d", {mul->output(), build.constant("e", {3}, {1, 2, 3})}, "w");
  EXPECT_EQ(numbers(build.fold(div)), (std::vector<float>{10, 10, 10, 400, 250, 200}));
  EXPECT_EQ(build.operators(), "Custom");
}

TEST(FoldConstants, DoesNotLetConstantsGrow) {
  FoldModel build;
  ir::Node* mul =
      build.node("Mul", "m", {build.random("a", {1000, 1}), build.random("b", {1, 1000})}, "w");
  EXPECT_EQ(build.fold(mul), nullptr);
  FoldModel expand;
  EXPECT_EQ(expand.fold(expand.node(
                "Expand", "e", {expand.random("a", {1}), expand.int_constant("s", {9, 9})}, "w")),
            nullptr);
}

TEST(FoldConstants, StopsWhenTheBudgetIsUsedUp) {
  // 8 MB each: 256 MB plus four times the constant are used up after 36 copies.
  ModelBuilder build;
  ir::Value* k = build.graph().add_constant("k", Tensor::zeros(DataType::kFloat, {1024, 2048}));
  std::vector<ir::Value*> all;
  for (int i = 0; i < 40; ++i)
    all.push_back(
        build.node("Transpose", fmt::format("t{}", i), {k}, fmt::format("w{}", i))->output());
  build.output(build.node("Custom", "end", all, "y"));
  EXPECT_EQ(fold_constants()->run(build.model), 36U);
  ir::verify(build.graph());
}

TEST(FoldConstants, KeepsGraphOutputsAndQuantizedWeights) {
  FoldModel build;
  ir::Node* copy = build.node("Identity", "i", {build.random("k", {2})}, "w");
  build.output(copy);
  EXPECT_EQ(build.fold(copy), nullptr);
  FoldModel quantized;
  ir::Value* q = quantized.graph().add_constant("q", Tensor::zeros(DataType::kInt8, {2}));
  EXPECT_EQ(quantized.fold(quantized.node("DequantizeLinear", "d",
                                          {q, quantized.constant("s", {}, {1})}, "w")),
            nullptr);
}

TEST(FoldConstants, TreatsInputsWithValuesAsConstantOnlyInIrVersion3) {
  for (const std::int64_t version : {3, 7}) {
    FoldModel build;
    build.model.ir_version = version;
    ir::Value* k = build.random("k", {2, 3});
    build.graph().add_input(k);
    EXPECT_EQ(build.fold(build.node("Transpose", "t", {k}, "w")) != nullptr, version == 3);
    EXPECT_TRUE(k->is_graph_input());
    EXPECT_EQ(build.model.ir_version, version == 3 ? 4 : 7);
  }
}

TEST(FoldConstants, LeavesAnOuterConstantThatBothBranchesRead) {
  ModelBuilder build;
  ir::Value* k = build.constant("k", {1}, {3});
  ir::Node* branch = build.node("If", "if", {build.input("x", {1})}, "y");
  std::vector<ir::Graph*> bodies;
  for (const char* side : {"then_branch", "else_branch"}) {
    auto body = std::make_unique<ir::Graph>();
    body->set_parent_node(branch);
    bodies.push_back(body.get());
    ir::Value* own = body->add_constant(
        fmt::format("{}_c", side),
        Tensor::of<float>({1}, std::vector<float>{bodies.size() == 1 ? 2.0F : 5.0F}));
    ir::Node* mul = body->insert_node("Mul", {k, own}, fmt::format("{}_m", side));
    ir::Node* last = body->insert_node("Relu", {mul->output()}, fmt::format("{}_o", side));
    body->add_output(last->output());
    branch->set_attribute(side, std::move(body));
  }
  build.output(branch);
  ir::verify(build.graph());
  EXPECT_EQ(fold_constants()->run(build.model), 2U);
  ir::verify(build.graph());
  EXPECT_EQ(numbers(bodies[0]->find("then_branch_m")->constant()), std::vector<float>{6});
  EXPECT_EQ(numbers(bodies[1]->find("else_branch_m")->constant()), std::vector<float>{15});
}

}  // namespace
}  // namespace amct::passes
