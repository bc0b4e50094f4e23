#include "amct/workflow/compare_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "amct/base/error.h"
#include "tests/support/models.h"

namespace amct::workflow {
namespace {

using ir::DataType;
using ir::Tensor;
using test::Builder;

/// x -> Mul(factor) -> m -> Relu -> y, and an integer side branch.
Builder scaled(float factor, const std::string& middle = "m") {
  Builder b;
  auto* x = b.input("x", DataType::kFloat, {"n", "2"});
  auto* f = b.graph().add_constant("f", Tensor::scalar(factor));
  auto* m = b.node("Mul", {x, f}, middle);
  b.node("Shape", {x}, "shape");
  b.output(b.node("Relu", {m}, "y"), DataType::kFloat, {"n", "2"});
  return b;
}

Tensor floats(std::vector<std::int64_t> dims, std::vector<float> values) {
  return Tensor::of<float>(std::move(dims), values);
}

TEST(CompareModels, GivesCosineSqnrAndLargestDifferenceOverAllBatches) {
  Builder a = scaled(1.0F), b = scaled(1.5F);
  const auto source = runtime::make_memory_source(
      {{{"x", floats({1, 2}, {1.0F, -2.0F})}}, {{"x", floats({2, 2}, {3.0F, 0.0F, 1.0F, 4.0F})}}});
  std::size_t calls = 0;
  CompareOptions options;
  options.progress = [&](std::size_t done, std::size_t total, double) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 2U);
  };
  const ModelComparison result = compare_models(a.model, b.model, *source, 0, options);
  EXPECT_EQ(calls, 2U);
  EXPECT_EQ(result.batches, 2U);
  ASSERT_EQ(result.tensors.size(), 2U) << "integer tensors are left out";
  const TensorComparison& m = result.tensors[0];
  EXPECT_EQ(m.name, "m");
  EXPECT_EQ(m.node, "m_node");
  EXPECT_FALSE(m.is_output);
  EXPECT_EQ(m.sums.count, 6U);
  EXPECT_EQ(m.sums.max_difference, 2.0);
  EXPECT_NEAR(m.sums.cosine(), 1.0, 1e-12);
  EXPECT_NEAR(m.sums.sqnr_db(), 20.0 * std::log10(2.0), 1e-9);  // the noise is half the signal
  EXPECT_TRUE(result.tensors[1].is_output);
  EXPECT_EQ(result.tensors[1].name, "y");
}

TEST(CompareModels, AModelEqualsItself) {
  Builder a = scaled(0.3F);
  const auto source = runtime::make_memory_source({{{"x", floats({1, 2}, {1.0F, -2.0F})}}});
  for (const TensorComparison& tensor : compare_models(a.model, a.model, *source, 1).tensors) {
    EXPECT_EQ(tensor.sums.max_difference, 0.0);
    EXPECT_EQ(tensor.sums.sqnr_db(), std::numeric_limits<double>::infinity());
  }
}

TEST(CompareModels, NamesWhatOnlyTheReferenceHas) {
  Builder a = scaled(1.0F), b = scaled(1.0F, "other");
  const auto source = runtime::make_memory_source({{{"x", floats({1, 2}, {1.0F, 2.0F})}}});
  const ModelComparison result = compare_models(a.model, b.model, *source, 1);
  EXPECT_EQ(result.unmatched, std::vector<std::string>{"m"});
  ASSERT_EQ(result.tensors.size(), 1U);
  CompareOptions options;
  options.names = {"m"};
  EXPECT_THROW(compare_models(a.model, b.model, *source, 1, options), Error);
}

TEST(CompareModels, TensorsOfDifferentShapesAreNamedNotCompared) {
  Builder a = scaled(1.0F), b;
  auto* x = b.input("x", DataType::kFloat, {"n", "2"});
  b.node("Flatten", {x}, "m");
  const std::vector<std::int64_t> flat = {-1};
  auto* shape = b.graph().add_constant("s", Tensor::of<std::int64_t>({1}, flat));
  b.output(b.node("Reshape", {x, shape}, "y"), DataType::kFloat, {"k"});
  const auto source = runtime::make_memory_source({{{"x", floats({1, 2}, {1.0F, 2.0F})}}});
  const ModelComparison result = compare_models(a.model, b.model, *source, 1);
  ASSERT_EQ(result.tensors.size(), 2U);
  EXPECT_EQ(result.tensors[0].problem, "");
  EXPECT_EQ(result.tensors[1].problem, "shapes differ: [1,2] and [2]");
}

TEST(CompareModels, RefusesModelsWithDifferentInputs) {
  Builder a = scaled(1.0F), b;
  b.output(b.node("Relu", {b.input("z", DataType::kFloat, {"n", "2"})}, "y"), DataType::kFloat,
           {"n", "2"});
  const auto source = runtime::make_memory_source({{{"x", floats({1, 2}, {1.0F, 2.0F})}}});
  EXPECT_THROW(compare_models(a.model, b.model, *source, 1), Error);
}

}  // namespace
}  // namespace amct::workflow
