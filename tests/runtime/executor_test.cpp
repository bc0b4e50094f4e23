#include "amct/runtime/executor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "amct/base/error.h"
#include "tests/support/models.h"

namespace amct::runtime {
namespace {

using ir::DataType;
using ir::Tensor;
using test::Builder;

std::string message_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

Tensor floats(std::vector<std::int64_t> dims, std::vector<float> values) {
  return Tensor::of<float>(std::move(dims), values);
}

Tensor counting(std::vector<std::int64_t> dims) {
  std::vector<float> values(static_cast<std::size_t>(ir::element_count(dims)));
  std::iota(values.begin(), values.end(), -3.0F);
  return floats(std::move(dims), values);
}

/// x[n,2,h] (+ bias of one large constant) -> relu -> y; `sum` lies in between.
Builder add_relu() {
  Builder b;
  auto* x = b.input("x", DataType::kFloat, {"n", "2", "h"});
  auto* bias = b.graph().add_constant("bias", floats({2, 1}, {1.0F, -1.0F}));
  auto* sum = b.node("Add", {x, bias}, "sum");
  auto* y = b.node("Relu", {sum}, "y");
  b.output(y, DataType::kFloat, {"n", "2", "h"});
  return b;
}

TEST(Executor, RunsWithEveryShapeOfADynamicModel) {
  Builder b = add_relu();
  auto executor = make_onnxruntime_executor(b.model, {});
  for (const std::vector<std::int64_t>& dims :
       {std::vector<std::int64_t>{1, 2, 3}, {2, 2, 5}, {1, 2, 1}, {0, 2, 4}}) {
    const Tensor x = counting(dims);
    const auto outputs = executor->run({{"x", x}});
    ASSERT_EQ(outputs.size(), 1U);
    ASSERT_EQ(outputs[0].dims(), dims);
    const auto in = x.values<float>();
    const auto out = outputs[0].values<float>();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const std::size_t channel = i / static_cast<std::size_t>(dims[2]) % 2;
      EXPECT_EQ(out[i], std::max(0.0F, in[i] + (channel == 0 ? 1.0F : -1.0F)));
    }
  }
}

TEST(Executor, TappedTensorsFollowTheOutputsOnceEach) {
  Builder b = add_relu();
  auto executor = make_onnxruntime_executor(b.model, {}, {"sum", "y", "x", "sum", "x"});
  ASSERT_EQ(executor->outputs().size(), 3U);
  EXPECT_EQ(executor->outputs()[0].name, "y");
  EXPECT_EQ(executor->outputs()[1].name, "sum");
  EXPECT_EQ(executor->outputs()[2].name, "x");
  const Tensor x = floats({1, 2, 1}, {-5.0F, 4.0F});
  const auto outputs = executor->run({{"x", x}});
  EXPECT_EQ(outputs[0], floats({1, 2, 1}, {0.0F, 3.0F}));
  EXPECT_EQ(outputs[1], floats({1, 2, 1}, {-4.0F, 3.0F}));
  EXPECT_EQ(outputs[2], x);
  EXPECT_EQ(b.graph().outputs().size(), 1U) << "the caller's model must not change";
}

TEST(Executor, OutputsStayValidAfterLaterRunsAndAfterTheExecutor) {
  Builder b = add_relu();
  auto executor = make_onnxruntime_executor(b.model, {});
  const Tensor first = executor->run({{"x", floats({1, 2, 1}, {1.0F, 2.0F})}})[0];
  for (int i = 0; i < 5; ++i) executor->run({{"x", floats({1, 2, 1}, {9.0F, 9.0F})}});
  executor.reset();
  EXPECT_EQ(first, floats({1, 2, 1}, {2.0F, 1.0F}));
}

TEST(Executor, LargeConstantsGiveTheSameResultAsSmallOnes) {
  Builder b;
  auto* x = b.input("x", DataType::kFloat, {"n", "64"});
  std::vector<float> weight(64 * 64, 0.0F);
  for (std::size_t i = 0; i < 64; ++i) weight[i * 64 + (63 - i)] = static_cast<float>(i + 1);
  auto* w = b.graph().add_constant("w", floats({64, 64}, weight));
  b.output(b.node("MatMul", {x, w}, "y"), DataType::kFloat, {"n", "64"});
  for (const int level : {0, 1, 99}) {
    ExecutorOptions options;
    options.optimization_level = level;
    auto executor = make_onnxruntime_executor(b.model, options);
    const Tensor input = counting({2, 64});
    const Tensor result = executor->run({{"x", input}})[0];
    for (std::size_t n = 0; n < 2; ++n)
      for (std::size_t i = 0; i < 64; ++i)
        EXPECT_EQ(result.values<float>()[n * 64 + 63 - i],
                  input.values<float>()[n * 64 + i] * static_cast<float>(i + 1));
  }
}

TEST(Executor, CarriesEveryElementType) {
  for (const DataType type :
       {DataType::kFloat, DataType::kDouble, DataType::kFloat16, DataType::kBFloat16,
        DataType::kUInt8, DataType::kInt8, DataType::kUInt16, DataType::kInt16, DataType::kInt32,
        DataType::kInt64, DataType::kUInt32, DataType::kUInt64, DataType::kBool}) {
    Builder b;
    b.output(b.node("Identity", {b.input("x", type, {"2", "3"})}, "y"), type, {"2", "3"});
    auto executor = make_onnxruntime_executor(b.model, {});
    EXPECT_EQ(executor->inputs()[0].type, b.graph().inputs()[0]->type);
    Tensor x = Tensor::zeros(type, {2, 3});
    auto bytes = x.mutable_values<std::uint8_t>();
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = i % 2 == 0 ? 1 : 0;
    EXPECT_EQ(executor->run({{"x", x}})[0], x) << ir::to_string(type);
  }
}

TEST(Executor, CarriesStringsAndScalars) {
  Builder b;
  b.output(b.node("Identity", {b.input("s", DataType::kString, {"2"})}, "t"), DataType::kString,
           {"2"});
  b.output(b.node("Neg", {b.input("x", DataType::kFloat, {})}, "y"), DataType::kFloat, {});
  auto executor = make_onnxruntime_executor(b.model, {});
  const auto outputs = executor->run(
      {{"x", Tensor::scalar(2.0F)}, {"s", Tensor::of_strings({2}, {"a", "long text"})}});
  EXPECT_EQ(outputs[0].strings(), (std::vector<std::string>{"a", "long text"}));
  EXPECT_EQ(outputs[1], Tensor::scalar(-2.0F));
}

TEST(Executor, AnIntegerInputBesideAFloatOneStaysInteger) {
  Builder b;
  auto* data = b.input("data", DataType::kFloat, {"4"});
  auto* index = b.input("index", DataType::kInt32, {"2"});
  b.output(b.node("Gather", {data, index}, "y"), DataType::kFloat, {"2"});
  auto executor = make_onnxruntime_executor(b.model, {}, {"index"});
  const std::vector<std::int32_t> picks = {3, 0};
  const auto outputs = executor->run({{"data", floats({4}, {1.0F, 2.0F, 3.0F, 4.0F})},
                                      {"index", Tensor::of<std::int32_t>({2}, picks)}});
  EXPECT_EQ(outputs[0], floats({2}, {4.0F, 1.0F}));
  EXPECT_EQ(outputs[1].type(), DataType::kInt32);
}

TEST(Executor, RefusesFeedsThatDoNotFitAndSaysWhatWasWanted) {
  Builder b;
  auto* p = b.input("p", DataType::kFloat, {"n", "3"});
  auto* q = b.input("q", DataType::kFloat, {"n", "3"});
  b.output(b.node("Add", {p, q}, "y"), DataType::kFloat, {"n", "3"});
  auto executor = make_onnxruntime_executor(b.model, {});
  const auto fails = [&](const Feed& feed) {
    return message_of([&] { executor->run(feed); }, ErrorCode::kInvalidData);
  };
  const Tensor good = counting({2, 3});
  EXPECT_EQ(fails({{"p", good}}), "input 'q' (float32[n,3]) is not given");
  EXPECT_EQ(fails({{"p", good}, {"q", counting({2, 4})}}),
            "input 'q' wants float32[n,3], but was given float32[2,4]");
  EXPECT_EQ(fails({{"p", good}, {"q", counting({6})}}),
            "input 'q' wants float32[n,3], but was given float32[6]");
  EXPECT_EQ(fails({{"p", good}, {"q", Tensor::zeros(DataType::kDouble, {2, 3})}}),
            "input 'q' wants float32[n,3], but was given float64[2,3]");
  EXPECT_EQ(fails({{"p", good}, {"q", good}, {"r", good}}),
            "the model has no input 'r'; its inputs are 'p', 'q'");
  EXPECT_EQ(fails({{"p", good}, {"q", good}, {"q", good}}), "input 'q' is given twice");
  EXPECT_EQ(executor->run({{"q", good}, {"p", good}})[0].dims(), good.dims());
}

TEST(Executor, RefusesToObserveATensorThatTheModelDoesNotHave) {
  Builder b = add_relu();
  EXPECT_EQ(message_of([&] { make_onnxruntime_executor(b.model, {}, {"nowhere"}); },
                       ErrorCode::kInvalidModel),
            "the model has no tensor 'nowhere' to observe");
}

Builder between_relus() {
  Builder b;
  b.model.opset_imports["test.user"] = 1;
  auto* a = b.node("Relu", {b.input("x", DataType::kFloat, {"3"})}, "a");
  auto* twice = b.node("Twice", {a}, "t");
  twice->producer()->domain = "test.user";
  b.output(b.node("Neg", {twice}, "y"), DataType::kFloat, {"3"});
  return b;
}

TEST(Executor, RunsUnknownOperatorsWithTheUsersLibraryAndRefusesByNameWithout) {
  Builder b = between_relus();
  const std::string text =
      message_of([&] { make_onnxruntime_executor(b.model, {}); }, ErrorCode::kRuntime);
  EXPECT_NE(text.find("test.user:Twice"), std::string::npos) << text;
  EXPECT_NE(text.find("--custom_op_library"), std::string::npos) << text;

  ExecutorOptions options;
  options.custom_op_libraries = {AMCT_TEST_CUSTOM_OPS};
  auto executor = make_onnxruntime_executor(b.model, options, {"a"});
  const auto outputs = executor->run({{"x", floats({3}, {-1.0F, 0.5F, 2.0F})}});
  EXPECT_EQ(outputs[0], floats({3}, {-0.0F, -1.0F, -4.0F}));
  EXPECT_EQ(outputs[1], floats({3}, {0.0F, 0.5F, 2.0F}));

  options.custom_op_libraries = {"/nonexistent/ops.so"};
  const std::string missing =
      message_of([&] { make_onnxruntime_executor(b.model, options); }, ErrorCode::kRuntime);
  EXPECT_NE(missing.find("/nonexistent/ops.so"), std::string::npos) << missing;
}

TEST(Executor, AFailureInTheMiddleOfARunIsAnErrorAndTheExecutorStaysUsable) {
  Builder b;
  auto* data = b.input("data", DataType::kFloat, {"4"});
  auto* index = b.input("index", DataType::kInt32, {"1"});
  b.output(b.node("Gather", {data, index}, "y"), DataType::kFloat, {"1"});
  auto executor = make_onnxruntime_executor(b.model, {});
  const auto feed = [](std::int32_t i) {
    return Feed{{"data", counting({4})}, {"index", Tensor::of<std::int32_t>({1}, {&i, 1})}};
  };
  const std::string text = message_of([&] { executor->run(feed(9)); }, ErrorCode::kRuntime);
  EXPECT_NE(text.find("y_node"), std::string::npos) << text;
  EXPECT_EQ(executor->run(feed(1))[0].values<float>()[0], -2.0F);
}

TEST(Executor, ALibraryThatIsMissingOrNoLibraryIsRefusedByName) {
  ExecutorOptions options;
  options.library = "/nonexistent/libonnxruntime.so";
  const std::string text = message_of([&] { onnxruntime_version(options); }, ErrorCode::kRuntime);
  EXPECT_NE(text.find("/nonexistent/libonnxruntime.so"), std::string::npos) << text;
}

TEST(Executor, TellsVersionAndPathOfTheLibrary) {
  const auto [version, path] = onnxruntime_version({});
  EXPECT_TRUE(version.starts_with("1.")) << version;
  EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

// In a process of its own, because a library once loaded stays.
TEST(ExecutorDeathTest, SaysWhereItSearchedWhenThereIsNoLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto search_in_vain = [] {
    ::unsetenv("AMCT_ONNXRUNTIME");
    ::unsetenv("VIRTUAL_ENV");
    ::unsetenv("CONDA_PREFIX");
    ::setenv("PATH", "/nonexistent", 1);
    try {
      onnxruntime_version({});
    } catch (const Error& error) {
      std::fprintf(stderr, "%s", error.what());
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(search_in_vain(), testing::ExitedWithCode(3), "pip install 'onnxruntime>=1.19'");
  const auto wrong_variable = [] {
    ::setenv("AMCT_ONNXRUNTIME", AMCT_TEST_CUSTOM_OPS, 1);
    try {
      onnxruntime_version({});
    } catch (const Error& error) {
      std::fprintf(stderr, "%s", error.what());
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(wrong_variable(), testing::ExitedWithCode(3), "AMCT_ONNXRUNTIME.*OrtGetApiBase");
}

}  // namespace
}  // namespace amct::runtime
