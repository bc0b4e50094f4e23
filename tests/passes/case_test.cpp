#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "amct/base/atomic_file.h"
#include "amct/ir/text.h"
#include "amct/runtime/executor.h"
#include "case_file.h"

namespace amct::passes {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> case_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(AMCT_TEST_DIR) / "passes"))
    if (entry.path().extension() == ".txt" && entry.path().filename() != "CMakeLists.txt")
      files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

ir::Tensor seeded(const ir::ValueType& type, std::mt19937& generator) {
  std::vector<std::int64_t> dims;
  for (const ir::Dim& dim : type.shape.value()) dims.push_back(dim.value.value_or(2));
  ir::Tensor tensor = ir::Tensor::zeros(type.data_type, dims);
  if (type.data_type != ir::DataType::kFloat) return tensor;
  std::uniform_real_distribution<float> draw(-2.0F, 2.0F);
  for (float& value : tensor.mutable_values<float>()) value = draw(generator);
  return tensor;
}

/// Outputs of ONNX Runtime without its own optimizations.
std::vector<ir::Tensor> execute(const ir::Model& model) {
  std::mt19937 generator(3);
  runtime::ExecutorOptions options;
  options.threads = 1;
  options.optimization_level = 0;
  const auto executor = runtime::make_onnxruntime_executor(model, options);
  runtime::Feed feed;
  for (const auto& port : executor->inputs())
    feed.emplace_back(port.name, seeded(port.type, generator));
  return executor->run(feed);
}

void expect_close(const ir::Tensor& actual, const ir::Tensor& expected) {
  ASSERT_EQ(actual.dims(), expected.dims());
  ASSERT_EQ(actual.type(), ir::DataType::kFloat);
  const auto a = actual.values<float>();
  const auto e = expected.values<float>();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(std::abs(a[i] - e[i]), 1e-5F * (1.0F + std::abs(e[i]))) << "element " << i;
}

class PassCase : public testing::TestWithParam<fs::path> {};

/// With AMCT_UPDATE_CASES set, the expected part of the file is written instead: review it.
TEST_P(PassCase, RewritesAsWrittenAndComputesTheSame) {
  const CaseFile test = read_case(GetParam());
  const ir::Model before = ir::parse_text(test.before, "before");
  const ir::Model after = run_case(test);
  const std::string actual = ir::print(after);
  if (std::getenv("AMCT_UPDATE_CASES") != nullptr) {
    const std::string text = read_file(GetParam());
    write_file(GetParam(), text.substr(0, text.find("--- after\n")) + "--- after\n" + actual);
  } else {
    EXPECT_EQ(actual, ir::print(ir::parse_text(test.after, "after")));
  }
  if (test.numerics == "none") return;
  const auto outputs = execute(after);
  const auto expected = execute(before);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (test.numerics == "exact")
      EXPECT_TRUE(outputs[i] == expected[i]) << "output " << i;
    else
      expect_close(outputs[i], expected[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, PassCase, testing::ValuesIn(case_files()), [](const auto& info) {
  std::string name =
      info.param.parent_path().filename().string() + "_" + info.param.stem().string();
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace amct::passes
