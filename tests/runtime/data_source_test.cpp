#include "amct/runtime/data_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "amct/base/error.h"
#include "amct/runtime/npy.h"
#include "tests/support/models.h"
#include "tests/support/temp_folder.h"
#include "tests/support/warnings.h"

namespace amct::runtime {
namespace {

using ir::DataType;
using ir::Tensor;
using test::TempFolder;
using test::Warnings;

const std::string kNpy = AMCT_TEST_DIR "/golden/npy/";

PortInfo port(const std::string& name, DataType type, const std::vector<std::string>& dims) {
  return {name, test::type(type, dims)};
}

std::vector<float> ramp(std::size_t count, float first = 0.0F) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\n lacks: " << part;
}

TEST(DataSource, ReadsOneBinFilePerBatchInAscendingOrder) {
  const TempFolder folder;
  for (const int i : {2, 0, 1})
    folder.write_values<float>("b" + std::to_string(i) + ".bin",
                               ramp(6, static_cast<float>(10 * i)));
  folder.write("notes.txt", "ignored");
  const auto source =
      open_data({folder.text(), "x:2,3", "float32"}, {port("x", DataType::kFloat, {"n", "3"})}, 3);
  ASSERT_EQ(source->batches(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Feed feed = source->batch(i);
    ASSERT_EQ(feed.size(), 1U);
    EXPECT_EQ(feed[0].first, "x");
    EXPECT_EQ(feed[0].second, Tensor::of<float>({2, 3}, ramp(6, static_cast<float>(10 * i))));
  }
  EXPECT_EQ(source->batch(0)[0].second.values<float>()[0], 0.0F) << "batches may be read again";
}

TEST(DataSource, TakesShapeAndTypeFromTheModelWhenTheyAreFixed) {
  const TempFolder folder;
  folder.write_values<float>("a.bin", ramp(6));
  const auto source = open_data({folder.text()}, {port("x", DataType::kFloat, {"2", "3"})}, 1);
  EXPECT_EQ(source->batch(0)[0].second.dims(), (std::vector<std::int64_t>{2, 3}));
}

TEST(DataSource, FindsTheFirstDimFromTheFileSize) {
  const TempFolder folder;
  folder.write_values<float>("a.bin", ramp(6));
  folder.write_values<float>("b.bin", ramp(15));
  for (const char* shape : {"x:?,3", "x:-1,3", ""}) {
    const auto source =
        open_data({folder.text(), shape}, {port("x", DataType::kFloat, {"n", "3"})}, 0);
    ASSERT_EQ(source->batches(), 2U);
    EXPECT_EQ(source->batch(0)[0].second.dims(), (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(source->batch(1)[0].second.dims(), (std::vector<std::int64_t>{5, 3}));
  }
}

TEST(DataSource, SplitsAnExactMultipleWithAWarning) {
  const TempFolder folder;
  folder.write_values<float>("a.bin", ramp(12));
  const Warnings warnings;
  const auto source =
      open_data({folder.text("a.bin"), "x:1,3"}, {port("x", DataType::kFloat, {"1", "3"})}, 4);
  EXPECT_EQ(source->batches(), 4U);
  EXPECT_EQ(source->batch(2)[0].second, Tensor::of<float>({1, 3}, ramp(3, 6)));
  ASSERT_EQ(warnings.lines.size(), 1U);
  expect_part(warnings.lines[0], "4 batches of [1,3]");
}

TEST(DataSource, WarnsWhenNaturalOrderDiffersFromByteOrder) {
  const TempFolder folder;
  for (const char* name : {"b1.bin", "b2.bin", "b10.bin"})
    folder.write_values<float>(name, ramp(1));
  const Warnings warnings;
  open_data({folder.text()}, {port("x", DataType::kFloat, {"1"})}, 3);
  ASSERT_EQ(warnings.lines.size(), 1U);
  expect_part(warnings.lines[0], "'b10.bin' is taken before 'b2.bin'");
}

TEST(DataSource, ServesSeveralInputsFromOneFolderEach) {
  const TempFolder folder;
  folder.write_values<float>("data/1.bin", ramp(4));
  const std::vector<std::int32_t> index = {3, 1};
  folder.write_values<std::int32_t>("index/1.bin", index);
  const std::vector<PortInfo> inputs = {port("data", DataType::kFloat, {"4"}),
                                        port("index", DataType::kInt32, {"2"})};
  const std::string folders = folder.text("data/") + ";" + folder.text("index/") + ";";
  for (const char* types : {"", "float32;int32"}) {
    const auto source = open_data({folders, "index:2;data:4", types}, inputs, 1);
    const Feed feed = source->batch(0);
    EXPECT_EQ(feed[0].second, Tensor::of<float>({4}, ramp(4)));
    EXPECT_EQ(feed[1].second, Tensor::of<std::int32_t>({2}, index)) << "stays int32";
  }
}

TEST(DataSource, ServesThreeInputsFromOneFolderEach) {
  const TempFolder folder;
  std::vector<PortInfo> inputs;
  std::string folders;
  for (const std::string name : {"data", "h", "c"}) {
    folder.write_values<float>(name + "/1.bin", ramp(2, static_cast<float>(inputs.size())));
    folders += folder.text(name) + ";";
    inputs.push_back(port(name, DataType::kFloat, {"2"}));
  }
  const Feed feed = open_data({folders, "", ""}, inputs, 1)->batch(0);
  ASSERT_EQ(feed.size(), 3U);
  for (std::size_t i = 0; i < feed.size(); ++i)
    EXPECT_EQ(feed[i].second, Tensor::of<float>({2}, ramp(2, static_cast<float>(i))));
}

TEST(DataSource, ReadsNpyOfDifferentShapesForADynamicModel) {
  const TempFolder folder;
  write_npy(folder / "0.npy", Tensor::zeros(DataType::kFloat, {1, 3, 8, 8}));
  write_npy(folder / "1.npy", Tensor::zeros(DataType::kFloat, {2, 3, 10, 6}));
  write_npy(folder / "2.npy", Tensor::zeros(DataType::kFloat, {1, 3, 16, 16}));
  const auto source =
      open_data({folder.text()}, {port("x", DataType::kFloat, {"n", "c", "h", "w"})}, 3);
  EXPECT_EQ(source->batch(1)[0].second.dims(), (std::vector<std::int64_t>{2, 3, 10, 6}));
  EXPECT_EQ(source->batch(2)[0].second.dims(), (std::vector<std::int64_t>{1, 3, 16, 16}));
}

TEST(DataSource, SplitsArraysOfEveryLayoutByTheirFirstDim) {
  for (const char* file :
       {"c_order.npy", "fortran_order.npy", "big_endian.npy", "float64.npy", "one.npz"}) {
    const auto source = open_data({kNpy + file}, {port("x", DataType::kFloat, {"1", "3", "4"})}, 2);
    ASSERT_EQ(source->batches(), 2U) << file;
    EXPECT_EQ(source->batch(0)[0].second, Tensor::of<float>({1, 3, 4}, ramp(12))) << file;
    EXPECT_EQ(source->batch(1)[0].second, Tensor::of<float>({1, 3, 4}, ramp(12, 12))) << file;
  }
}

TEST(DataSource, OneNpzServesAllInputsByName) {
  const std::vector<PortInfo> inputs = {port("index", DataType::kInt32, {"k"}),
                                        port("x", DataType::kFloat, {"2", "3", "4"})};
  for (const char* file : {"stored.npz", "deflated.npz"}) {
    const Warnings warnings;
    const auto source = open_data({kNpy + file}, inputs, 1);
    const Feed feed = source->batch(0);
    EXPECT_EQ(feed[0].second, Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{1, 5}));
    EXPECT_EQ(feed[1].second, Tensor::of<float>({2, 3, 4}, ramp(24)));
    ASSERT_EQ(warnings.lines.size(), 1U);
    expect_part(warnings.lines[0], "input 'index': int64 is converted to int32");
  }
}

TEST(DataSource, ConvertsOnlyWhatLosesNothingOfMeaning) {
  const TempFolder folder;
  const std::vector<double> wide = {0.5, -2.0};
  folder.write_values<double>("a.bin", wide);
  const std::vector<PortInfo> inputs = {port("x", DataType::kFloat, {"2"})};
  {
    const Warnings warnings;
    const auto source = open_data({folder.text(), "", "float64"}, inputs, 1);
    EXPECT_EQ(source->batch(0)[0].second, Tensor::of<float>({2}, std::vector<float>{0.5F, -2.0F}));
    EXPECT_EQ(warnings.lines.size(), 1U);
  }
  expect_part(message_of([&] { open_data({folder.text(), "", "int64"}, inputs, 1); }),
              "holds int64, but the model wants float32");
  const std::vector<std::int64_t> huge = {1, std::int64_t{1} << 40};
  write_npy(folder / "n/0.npy", Tensor::of<std::int64_t>({2}, huge));
  const auto source = open_data({folder.text("n")}, {port("x", DataType::kInt32, {"2"})}, 1);
  expect_part(message_of([&] { source->batch(0); }),
              "holds 1099511627776, which does not fit int32");
}

TEST(DataSource, RefusesMissingEmptyAndShortDataUpFront) {
  const TempFolder folder;
  const std::vector<PortInfo> inputs = {port("x", DataType::kFloat, {"1", "3"})};
  const auto fails = [&](const std::string& source, std::size_t batches) {
    return message_of([&] { open_data({source}, inputs, batches); });
  };
  expect_part(fails(folder.text("none"), 1), "does not exist");
  folder.write("empty/readme.txt", "");
  expect_part(fails(folder.text("empty"), 1), "holds no .bin, .npy or .npz file (1 other entries)");
  for (const char* name : {"few/0.bin", "few/1.bin"}) folder.write_values<float>(name, ramp(3));
  expect_part(fails(folder.text("few"), 8),
              "8 batches are wanted, but '" + folder.text("few") + "' holds 2");
  for (const char* name : {"short/0.bin", "short/1.bin"}) folder.write_values<float>(name, ramp(3));
  folder.write("short/2.bin", "12345678901");
  expect_part(fails(folder.text("short"), 1),
              "2.bin' has 11 bytes; 12 bytes are wanted for float32[1,3]");
  folder.write("zero/0.bin", "");
  expect_part(fails(folder.text("zero"), 1), "has 0 bytes; 12 bytes are wanted");
  folder.write("mixed/0.bin", "123456789012");
  write_npy(folder / "mixed/1.npy", Tensor::zeros(DataType::kFloat, {1, 3}));
  expect_part(fails(folder.text("mixed"), 1), "are of different kinds");
  write_npy(folder / "rank/0.npy", Tensor::zeros(DataType::kFloat, {3}));
  expect_part(fails(folder.text("rank"), 1), "holds float32[3]; wanted is float32[1,3]");
  write_npy(folder / "none_in/0.npy", Tensor::zeros(DataType::kFloat, {0, 3}));
  expect_part(fails(folder.text("none_in"), 1), "holds no elements: [0,3]");
  folder.write("junk/0.npy", "this is not an array");
  expect_part(fails(folder.text("junk"), 1), "is not a readable .npy file");
  folder.write("junkz/0.npz", "this is not an archive, only some text");
  expect_part(fails(folder.text("junkz"), 1), "is not a readable .npz file");
  expect_part(fails(folder.text("few") + ";" + folder.text("few"), 1),
              "names 2 folders; the model has 1 inputs");
}

TEST(DataSource, RefusesInputsThatDoNotGoTogether) {
  const TempFolder folder;
  const std::vector<PortInfo> inputs = {port("a", DataType::kFloat, {"n", "2"}),
                                        port("b", DataType::kFloat, {"n"})};
  write_npy(folder / "a/0.npy", Tensor::zeros(DataType::kFloat, {4, 2}));
  write_npy(folder / "b/0.npy", Tensor::zeros(DataType::kFloat, {3}));
  const std::string both = folder.text("a") + ";" + folder.text("b");
  // Exporters write one symbol, often "?", for dims that have nothing to do with each other.
  EXPECT_EQ(open_data({both}, inputs, 1)->batches(), 1U);
  write_npy(folder / "b/1.npy", Tensor::zeros(DataType::kFloat, {4}));
  expect_part(message_of([&] { open_data({both}, inputs, 1); }),
              "input 'a' has 1 batches of data ('" + folder.text("a") + "') and input 'b' has 2");
  expect_part(message_of([&] { open_data({folder.text("a")}, inputs, 1); }),
              "data_dir names one source for 2 inputs");
  expect_part(message_of([&] { open_data({kNpy + "stored.npz"}, inputs, 1); }),
              "has no array of that name; it holds 'x.npy', 'index.npy'");
}

TEST(DataSource, RefusesOptionsThatContradictTheModel) {
  const TempFolder folder;
  folder.write_values<float>("a.bin", ramp(24));
  const std::vector<PortInfo> inputs = {port("x", DataType::kFloat, {"1", "3", "h"})};
  const auto fails = [&](const std::string& shape, const std::string& types = "") {
    return message_of([&] { open_data({folder.text(), shape, types}, inputs, 1); });
  };
  EXPECT_EQ(fails("x:8,3,1"),
            "input_shape says [8,3,1] for input 'x', but the model wants float32[1,3,h]");
  expect_part(fails("x:1,3"), "but the model wants float32[1,3,h]");
  expect_part(fails("y:1,3,8"), "the model has no input 'y'; its inputs are 'x'");
  expect_part(fails("x:1,?,8"), "has '?' outside the first place");
  expect_part(fails("x:1,3,0"), "'0' in 'x:1,3,0' is not a positive number");
  expect_part(fails("x:1,3,4294967296,4294967296,4294967296"), "is too large");
  expect_part(fails("x:1,3,8;x:1,3,8"), "names input 'x' twice");
  expect_part(fails("1,3,8"), "is not of the form");
  expect_part(fails(""), "give --input_shape=\"x:...\"");
  expect_part(fails("x:1,3,8", "float31"), "'float31' is unknown");
  expect_part(fails("x:1,3,8", "float32;float32"), "names 2 types; the model has 1 inputs");
}

TEST(DataSource, InputNamesMayHoldColons) {
  const auto shapes = parse_input_shape(
      "in:0: 1 , 2 ;b:",
      {port("b", DataType::kFloat, {}), port("in:0", DataType::kFloat, {"?", "2"})});
  EXPECT_EQ(shapes[0], std::vector<std::int64_t>{});
  EXPECT_EQ(shapes[1], (std::vector<std::int64_t>{1, 2}));
}

TEST(DataSource, ConstantsThatAreAlsoGraphInputsNeedNoData) {
  test::Builder b;
  auto* x = b.input("x", DataType::kFloat, {"2"});
  auto* w = b.input("w", DataType::kFloat, {"2"});
  w->set_constant(Tensor::zeros(DataType::kFloat, {2}));
  b.output(b.node("Add", {x, w}, "y"), DataType::kFloat, {"2"});
  const auto inputs = model_inputs(b.model);
  ASSERT_EQ(inputs.size(), 1U);
  EXPECT_EQ(inputs[0].name, "x");
}

}  // namespace
}  // namespace amct::runtime
