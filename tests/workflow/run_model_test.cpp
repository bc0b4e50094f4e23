#include "amct/workflow/run_model.h"

#include <gtest/gtest.h>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/runtime/npy.h"
#include "tests/support/models.h"
#include "tests/support/temp_folder.h"

namespace amct::workflow {
namespace {

using ir::DataType;
using ir::Tensor;
using test::Builder;

Tensor floats(std::vector<std::int64_t> dims, std::vector<float> values) {
  return Tensor::of<float>(std::move(dims), values);
}

Tensor saved(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  return runtime::parse_npy(std::as_bytes(std::span<const char>(bytes)), path.string());
}

TEST(RunModel, SavesEveryOutputOfEveryBatch) {
  Builder b;
  auto* x = b.input("x", DataType::kFloat, {"n"});
  b.output(b.node("Relu", {x}, "a/b"), DataType::kFloat, {"n"});
  b.output(b.node("Shape", {x}, "a_b"), DataType::kInt64, {"1"});
  const auto source = runtime::make_memory_source(
      {{{"x", floats({2}, {-1.0F, 2.0F})}}, {{"x", floats({1}, {5.0F})}}});
  const test::TempFolder folder;
  RunOptions options;
  options.output_folder = folder / "out";
  std::size_t seen = 0;
  options.on_outputs = [&](std::size_t batch, const auto& outputs, const auto& tensors) {
    EXPECT_EQ(batch, seen++);
    EXPECT_EQ(outputs.size(), 2U);
    EXPECT_EQ(tensors.size(), 2U);
  };
  const RunResult result = run_model(b.model, *source, 0, options);
  EXPECT_EQ(seen, 2U);
  EXPECT_EQ(result.batches, 2U);
  ASSERT_EQ(result.files.size(), 4U);
  EXPECT_EQ(result.files[0], folder / "out/a_b/00000.npy");
  EXPECT_EQ(result.files[3], folder / "out/a_b_1/00001.npy");
  EXPECT_EQ(saved(result.files[0]), floats({2}, {0.0F, 2.0F}));
  EXPECT_EQ(saved(result.files[2]), floats({1}, {5.0F}));
  EXPECT_EQ(ir::to_int64(saved(result.files[3])), std::vector<std::int64_t>{1});
}

TEST(RunModel, WritesNothingWithoutAFolderAndRefusesTooFewBatches) {
  Builder b;
  b.output(b.node("Relu", {b.input("x", DataType::kFloat, {"n"})}, "y"), DataType::kFloat, {"n"});
  const auto source = runtime::make_memory_source({{{"x", floats({1}, {1.0F})}}});
  EXPECT_TRUE(run_model(b.model, *source, 1).files.empty());
  EXPECT_THROW(run_model(b.model, *source, 2), Error);
}

/// AscendQuant -> Conv with int8 weights -> AscendDequant, as a deploy model file.
TEST(RunModel, RunsDeployModelsInIntegers) {
  Builder b;
  auto* x = b.input("x", DataType::kFloat, {"1", "1", "1", "3"});
  auto* q = b.node("AscendQuant", {x}, "q");
  q->producer()->set_attribute("scale", 2.0F);  // the reciprocal of the scale 0.5
  q->producer()->set_attribute("offset", 1.0F);
  q->producer()->set_attribute("quant_bit", std::int64_t{8});
  const std::vector<std::int8_t> weight = {3};
  auto* w = b.graph().add_constant("w", Tensor::of<std::int8_t>({1, 1, 1, 1}, weight));
  auto* c = b.node("Conv", {q, w}, "c");
  // deq_scale 0.5 * 0.25 as float32 bits in the low half of a uint64
  const std::vector<std::uint64_t> deq = {0x3E000000U};
  auto* d = b.graph().add_constant("deq", Tensor::of<std::uint64_t>({1}, deq));
  b.output(b.node("AscendDequant", {c, d}, "y"), DataType::kFloat, {"1", "1", "1", "3"});
  const test::TempFolder folder;
  onnx::save(b.model, folder / "deploy.onnx");
  const ir::Model model = load_runnable(folder / "deploy.onnx");
  const auto source =
      runtime::make_memory_source({{{"x", floats({1, 1, 1, 3}, {1.0F, -2.0F, 100.0F})}}});
  RunOptions options;
  Tensor y;
  options.on_outputs = [&](std::size_t, const auto&, const auto& tensors) { y = tensors[0]; };
  run_model(model, *source, 1, options);
  // 1 / 0.5 = 2, -4, and 100 clipped to 127 - 1; each times 3 * 0.125.
  EXPECT_EQ(ir::to_float(y), (std::vector<float>{0.75F, -1.5F, 47.25F}));
}

}  // namespace
}  // namespace amct::workflow
