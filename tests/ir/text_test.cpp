#include "amct/ir/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"

namespace amct::ir {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_text(text, "t");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidModel);
    return error.what();
  }
  ADD_FAILURE() << "no error for: " << text;
  return {};
}

/// The tensor of `const %w = <text>`.
Tensor tensor(std::string_view text) {
  const Model model = parse_text(fmt::format("graph g () -> () {{ const %w = {} }}", text), "t");
  return *model.graph->find("w")->constant();
}

constexpr std::string_view kSample = R"(ir_version 8
opset "" 17
opset "com.microsoft" 1
producer "maker" "2.1"
metadata "key" "a \"quoted\" value"
function "local::f"
extra hex"f20101"

graph main (%x: float32[N,3,8,?], %w) -> (%y, %z) {
  extra hex"7a00"
  const %k = float32[2,2] {1, -2.5, inf, nan}
  const %w = float32[2] {1, 2} constant_extra hex"6200"
  const %"we ird:0": ? = int4[3] hex"2103"
  %c: float32[N,"a b"], _, %d = Conv @conv1 (%x, %k, _) {kernel_shape = [3, 3], alpha = 1.0, auto_pad = "SAME"}
  () = com.microsoft::"odd op"(%c) {e = [], f = floats[], s = strings[], t = tensors[uint8[2] {1, 255}], o = opaque hex"0a00"}
  %y = If(%k) {then_branch = graph then () -> (%a) {
    %a: ? opaque hex"2200" = Relu(%c) extra hex"3200"
  }, others = graphs[graph e () -> (%c) {
  }]}
  %z = Identity @"n 1" (%y) {weight = string[2] {"a", "b"}}
}
)";

TEST(Text, PrintsAsItWasWritten) {
  const Model model = parse_text(kSample, "sample");
  EXPECT_EQ(print(model), kSample);
}

TEST(Text, ReadsEveryPart) {
  const Model model = parse_text(kSample, "sample");
  const Graph& graph = *model.graph;
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(*model.find_metadata("key"), "a \"quoted\" value");
  EXPECT_EQ(graph.inputs().size(), 2U);
  EXPECT_NE(graph.find("w")->constant(), nullptr);
  const Value* c = graph.find("c");
  ASSERT_TRUE(c->type.shape.has_value());
  EXPECT_EQ((*c->type.shape)[1].symbol, "a b");
  const Node& conv = *c->producer();
  EXPECT_EQ(conv.name, "conv1");
  EXPECT_EQ(conv.inputs().size(), 3U);
  EXPECT_EQ(conv.input(2), nullptr);
  EXPECT_EQ(conv.outputs().size(), 3U);
  EXPECT_EQ(conv.attribute_ints("kernel_shape", {}), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(conv.attribute_float("alpha", 0), 1.0F);
  const Graph& branch = *graph.find("y")->producer()->subgraphs()[0];
  EXPECT_EQ(branch.nodes().front()->input(0), c);
  EXPECT_EQ(graph.find("y")->producer()->subgraphs()[1]->outputs()[0], c);
}

TEST(Text, KeepsTheBitsOfEveryFloat) {
  for (const std::uint32_t bits :
       {0x00000000U, 0x80000000U, 0x00000001U, 0x3DCCCCCDU, 0x7F7FFFFFU, 0x7F800000U, 0xFF800000U,
        0x7FC00000U, 0xFFC00000U, 0x7FA00001U}) {
    Graph graph;
    graph.add_constant("w", Tensor::scalar(std::bit_cast<float>(bits)));
    const Model model = parse_text(print(graph), "t");
    EXPECT_EQ(std::bit_cast<std::uint32_t>(model.graph->find("w")->constant()->values<float>()[0]),
              bits);
  }
}

TEST(Text, KeepsTheBitsOfEveryHalf) {
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16}) {
    Tensor all = Tensor::zeros(type, {65536});
    std::uint16_t bits = 0;
    for (std::uint16_t& value : all.mutable_values<std::uint16_t>()) value = bits++;
    Graph graph;
    graph.add_constant("w", all);
    const Model model = parse_text(print(graph, PrintOptions::everything()), "t");
    EXPECT_EQ(*model.graph->find("w")->constant(), all) << to_string(type);
  }
}

TEST(Text, ReadsElementsOfEachType) {
  EXPECT_EQ(tensor("int8[2] {-128, 127}").values<std::int8_t>()[0], -128);
  EXPECT_EQ(tensor("uint64[] {18446744073709551615}").values<std::uint64_t>()[0], ~0ULL);
  EXPECT_EQ(tensor("bool[2] {1, 0}").bytes()[0], std::byte{1});
  EXPECT_EQ(tensor("float64[] {0.1}").values<double>()[0], 0.1);
  EXPECT_EQ(tensor("string[1] {\"a\\x00\\n\"}").strings()[0], std::string("a\0\n", 3));
  EXPECT_EQ(tensor("float32[0] {}").size(), 0);
}

TEST(Text, MakesDataOnRequest) {
  const Tensor random = tensor("float32[64,3] random(7)");
  EXPECT_EQ(random, tensor("float32[64,3] random(7)"));
  EXPECT_NE(random, tensor("float32[64,3] random(8)"));
  float sum = 0;
  for (const float value : random.values<float>()) {
    EXPECT_LT(std::abs(value), 1.0F);
    sum += value;
  }
  EXPECT_LT(std::abs(sum / 192), 0.2F);
  for (const std::int64_t value : to_int64(tensor("int8[50] random(1)"))) {
    EXPECT_GE(value, -8);
    EXPECT_LT(value, 8);
  }
  const Tensor filled = tensor("float16[3] fill(0.5)");
  EXPECT_EQ(to_float(filled), (std::vector<float>{0.5F, 0.5F, 0.5F}));
}

TEST(Text, ElidesLargeTensorsAndStillParses) {
  Graph graph;
  graph.add_constant("w", Tensor::zeros(DataType::kFloat, {300}));
  const std::string text = print(graph);
  EXPECT_NE(text.find("float32[300] elided(0x"), std::string::npos) << text;
  const Model model = parse_text(text, "t");
  EXPECT_EQ(model.graph->find("w")->constant()->dims(), std::vector<std::int64_t>{300});
}

TEST(Text, ReadsTheSampleOfTheDocumentation) {
  const std::string page = read_file(AMCT_TEST_DIR "/../docs/ir_text.md");
  const std::size_t start = page.find("```text\n") + 8;
  const Model model = parse_text(
      std::string_view(page).substr(start, page.find("```", start) - start), "ir_text.md");
  EXPECT_EQ(model.graph->nodes().size(), 2U);
}

TEST(Text, ErrorsSayWhere) {
  EXPECT_EQ(error_of("graph g () -> () {\n  %y = Relu(%x)\n}"),
            "t:2:13: %x is not defined before this place");
  EXPECT_EQ(error_of("graph g (%x, %x) -> () {}"), "t:1:14: %x is defined twice");
  EXPECT_EQ(error_of("graph g (%x) -> (%q) {}"), "t:1:18: %q is not defined before this place");
  EXPECT_EQ(error_of("opset 17"), "t:1:7: expected a string in double quotes, found '17'");
  EXPECT_EQ(error_of("graph g ("), "t:1:10: expected a new %name, found the end");
  EXPECT_EQ(error_of(""),
            "t:1:1: expected 'graph', 'ir_version', 'opset', 'producer', 'metadata', "
            "'function' or 'extra', found the end");
  EXPECT_EQ(error_of("metadata \"a\n\" \"\""),
            "t:1:10: a string that starts here has no closing quote on its line");
  EXPECT_EQ(error_of("graph g () -> () { ; }"), "t:1:20: unexpected character ';'");
}

TEST(Text, RefusesTensorsThatDoNotFit) {
  const auto tensor_error = [](std::string_view text) {
    return error_of(fmt::format("graph g () -> () {{ const %w = {} }}", text));
  };
  EXPECT_NE(tensor_error("int8[1] {128}").find("'128' is not a number of this type"),
            std::string::npos);
  EXPECT_NE(tensor_error("float32[2] {1}").find("4 bytes of data; its dimensions need 8"),
            std::string::npos);
  EXPECT_NE(tensor_error("float32[-1] {}").find("dimension -1"), std::string::npos);
  EXPECT_NE(tensor_error("float33[1] {1}").find("'float33' is no element type"), std::string::npos);
  EXPECT_NE(tensor_error("int4[2] {1, 2}").find("needs hex"), std::string::npos);
  EXPECT_NE(tensor_error("int4[2] hex\"1\"").find("pairs of hexadecimal digits"),
            std::string::npos);
}

TEST(Text, RefusesToMakeAbsurdAmountsOfData) {
  EXPECT_NE(error_of("graph g () -> () { const %w = float32[1000000,1000000] random(1) }")
                .find("too much generated data"),
            std::string::npos);
  EXPECT_NE(error_of("graph g () -> () { const %w = uint8[4611686018427387904] fill(1) }")
                .find("too large"),
            std::string::npos);
}

TEST(Text, StopsAtDeepNesting) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "graph g () -> () { () = If() {b = ";
  EXPECT_NE(error_of(text).find("nested too deeply"), std::string::npos);
}

TEST(Text, SurvivesEveryTruncationOfASample) {
  for (std::size_t size = 0; size + 2 < kSample.size(); ++size)
    EXPECT_THROW(parse_text(kSample.substr(0, size), "cut"), Error) << size;
}

}  // namespace
}  // namespace amct::ir
