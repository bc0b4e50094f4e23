#include "model_builder.h"

namespace amct::onnx {
namespace {

using ir::DataType;

class Storage : public ::testing::Test {
 protected:
  schema::Tensor* tensor(DataType type, std::initializer_list<int> dims) {
    return add_initializer(*model_.mutable_graph(), "w", static_cast<std::int32_t>(type), dims);
  }

  ir::Tensor read() {
    const ir::Model model = parse(model_);
    const ir::Value* value = model.graph->find("w");
    EXPECT_NE(value, nullptr);
    EXPECT_NE(value->constant(), nullptr);
    // Written and read again, it is the same.
    const ir::Model again = parse(message_of(model));
    EXPECT_EQ(*again.graph->find("w")->constant(), *value->constant());
    return *value->constant();
  }

  template <typename T>
  std::vector<T> values() {
    const ir::Tensor read_tensor = read();
    const auto span = read_tensor.values<T>();
    return {span.begin(), span.end()};
  }

  schema::Model model_ = relu_model();
};

TEST_F(Storage, ReadsFloatData) {
  schema::Tensor* w = tensor(DataType::kFloat, {2});
  w->add_float_data(1.5F);
  w->add_float_data(-0.0F);
  EXPECT_EQ(values<float>(), (std::vector<float>{1.5F, -0.0F}));
}

TEST_F(Storage, PrefersTypedDataWhenRawDataAreEmpty) {
  schema::Tensor* w = tensor(DataType::kFloat, {1});
  w->set_raw_data("");
  w->add_float_data(2.0F);
  EXPECT_EQ(values<float>(), std::vector<float>{2.0F});
}

TEST_F(Storage, ReadsEmptyTensors) {
  tensor(DataType::kFloat, {0, 3})->set_raw_data("");
  EXPECT_EQ(read().dims(), (std::vector<std::int64_t>{0, 3}));
}

TEST_F(Storage, ReadsScalars) {
  tensor(DataType::kInt64, {})->add_int64_data(-7);
  EXPECT_EQ(values<std::int64_t>(), std::vector<std::int64_t>{-7});
}

TEST_F(Storage, ReadsFloat16BitsFromInt32Data) {
  schema::Tensor* w = tensor(DataType::kFloat16, {2});
  w->add_int32_data(0x3C00);
  w->add_int32_data(0xC000);
  EXPECT_EQ(ir::to_float(read()), (std::vector<float>{1.0F, -2.0F}));
}

TEST_F(Storage, ReadsBFloat16BitsFromInt32Data) {
  tensor(DataType::kBFloat16, {1})->add_int32_data(0x3F80);
  EXPECT_EQ(ir::to_float(read()), std::vector<float>{1.0F});
}

TEST_F(Storage, ReadsSmallIntegersFromInt32Data) {
  schema::Tensor* w = tensor(DataType::kInt8, {2});
  w->add_int32_data(-128);
  w->add_int32_data(127);
  EXPECT_EQ(values<std::int8_t>(), (std::vector<std::int8_t>{-128, 127}));
}

TEST_F(Storage, ReadsInt16AndUInt16FromInt32Data) {
  tensor(DataType::kInt16, {1})->add_int32_data(-300);
  EXPECT_EQ(values<std::int16_t>(), std::vector<std::int16_t>{-300});
  model_ = relu_model();
  tensor(DataType::kUInt16, {1})->add_int32_data(65535);
  EXPECT_EQ(values<std::uint16_t>(), std::vector<std::uint16_t>{65535});
}

TEST_F(Storage, ReadsInt32AndBoolFromInt32Data) {
  tensor(DataType::kInt32, {1})->add_int32_data(-70000);
  EXPECT_EQ(values<std::int32_t>(), std::vector<std::int32_t>{-70000});
  model_ = relu_model();
  schema::Tensor* w = tensor(DataType::kBool, {2});
  w->add_int32_data(1);
  w->add_int32_data(0);
  EXPECT_EQ(ir::to_int64(read()), (std::vector<std::int64_t>{1, 0}));
}

TEST_F(Storage, ReadsPackedNibblesFromInt32Data) {
  schema::Tensor* w = tensor(DataType::kInt4, {3});
  w->add_int32_data(0x21);
  w->add_int32_data(0x0F);
  const ir::Tensor read_tensor = read();
  ASSERT_EQ(read_tensor.bytes().size(), 2U);
  EXPECT_EQ(read_tensor.bytes()[0], std::byte{0x21});
  EXPECT_EQ(read_tensor.bytes()[1], std::byte{0x0F});
}

TEST_F(Storage, ReadsFloat8FromInt32Data) {
  tensor(DataType::kFloat8E4M3FN, {1})->add_int32_data(0xB8);
  EXPECT_EQ(read().bytes()[0], std::byte{0xB8});
}

TEST_F(Storage, ReadsUnsignedLongData) {
  tensor(DataType::kUInt64, {1})->add_uint64_data(~std::uint64_t{0});
  EXPECT_EQ(values<std::uint64_t>(), std::vector<std::uint64_t>{~std::uint64_t{0}});
  model_ = relu_model();
  tensor(DataType::kUInt32, {1})->add_uint64_data(0xFFFFFFFFU);
  EXPECT_EQ(values<std::uint32_t>(), std::vector<std::uint32_t>{0xFFFFFFFFU});
}

TEST_F(Storage, ReadsDoubleAndComplexData) {
  tensor(DataType::kDouble, {1})->add_double_data(0.1);
  EXPECT_EQ(values<double>(), std::vector<double>{0.1});
  model_ = relu_model();
  schema::Tensor* w = tensor(DataType::kComplex64, {1});
  w->add_float_data(1.0F);
  w->add_float_data(2.0F);
  EXPECT_EQ(read().bytes().size(), 8U);
}

TEST_F(Storage, ReadsStrings) {
  schema::Tensor* w = tensor(DataType::kString, {2});
  w->add_string_data("a");
  w->add_string_data(std::string("\0b", 2));
  EXPECT_EQ(read().strings(), (std::vector<std::string>{"a", std::string("\0b", 2)}));
}

TEST_F(Storage, KeepsTensorsOfUnknownTypes) {
  schema::Tensor* w = add_initializer(*model_.mutable_graph(), "w", 99, {5});
  w->set_raw_data("abc");
  const ir::Model model = parse(model_);
  EXPECT_TRUE(model.graph->find("w")->opaque_constant);
  const schema::Model message = message_of(model);
  EXPECT_EQ(message.graph().initializer(0).SerializeAsString(), w->SerializeAsString());
}

class External : public Storage {
 protected:
  schema::Tensor* point_to(const std::string& location, const char* offset, const char* length) {
    schema::Tensor* w = tensor(DataType::kFloat, {2});
    w->set_data_location(1);
    const auto add = [w](const char* key, const std::string& value) {
      schema::KeyValue* entry = w->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", location);
    if (offset != nullptr) add("offset", offset);
    if (length != nullptr) add("length", length);
    return w;
  }

  void write_data(const std::string& name) {
    const float data[] = {9.0F, 1.0F, 2.0F, 3.0F};
    write_file(folder_.path() / name, {reinterpret_cast<const char*>(data), sizeof(data)});
  }

  std::vector<float> values() {
    const ir::Model model = parse(model_, folder_.path());
    const auto span = model.graph->find("w")->constant()->values<float>();
    return {span.begin(), span.end()};
  }

  std::string error() {
    return error_of([&] { parse(model_, folder_.path()); });
  }

  TemporaryFolder folder_;
};

TEST_F(External, ReadsARangeOfTheFile) {
  write_data("w.bin");
  point_to("w.bin", "4", "8");
  EXPECT_EQ(values(), (std::vector<float>{1.0F, 2.0F}));
}

TEST_F(External, ReadsFromAFolderBesideTheModelWithoutOffsetAndLength) {
  write_data("data/w.bin");
  point_to("./data/w.bin", nullptr, nullptr);
  EXPECT_EQ(values(), (std::vector<float>{9.0F, 1.0F}));
}

TEST_F(External, ReadsUnalignedOffsets) {
  write_file(folder_.path() / "w.bin", std::string("\x01\x00\x00\x80\x3F\x00\x00\x00\x40", 9));
  point_to("w.bin", "1", "8");
  EXPECT_EQ(values(), (std::vector<float>{1.0F, 2.0F}));
}

TEST_F(External, NamesAMissingFile) {
  point_to("w.bin", nullptr, nullptr);
  const std::string message = error();
  EXPECT_NE(message.find("tensor 'w'"), std::string::npos) << message;
  EXPECT_NE(message.find("w.bin': No such file"), std::string::npos) << message;
}

TEST_F(External, RefusesPathsOutOfTheFolder) {
  for (const char* location : {"../w.bin", "a/../../w.bin", "/etc/passwd", "", ".."}) {
    model_ = relu_model();
    point_to(location, nullptr, nullptr);
    EXPECT_NE(error().find("expected a file beside the model"), std::string::npos) << location;
  }
}

TEST_F(External, RefusesRangesOutsideTheFile) {
  write_data("w.bin");
  for (const char* offset : {"12", "17", "18446744073709551615"}) {
    model_ = relu_model();
    point_to("w.bin", offset, "8");
    EXPECT_NE(error().find("it has 16 bytes"), std::string::npos) << offset;
  }
  model_ = relu_model();
  point_to("w.bin", "minus one", "8");
  EXPECT_NE(error().find("offset is 'minus one'"), std::string::npos);
}

TEST_F(External, RefusesALengthThatDoesNotFitTheShape) {
  write_data("w.bin");
  point_to("w.bin", "0", "4");
  EXPECT_NE(error().find("initializer 'w' has 4 bytes"), std::string::npos);
}

TEST_F(External, RefusesAFolderInPlaceOfTheFile) {
  std::filesystem::create_directory(folder_.path() / "w.bin");
  point_to("w.bin", nullptr, nullptr);
  EXPECT_NE(error().find("it is a folder"), std::string::npos);
}

}  // namespace
}  // namespace amct::onnx
