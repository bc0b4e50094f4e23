#include <algorithm>
#include <cstring>
#include <vector>

#include "amct/formats/tensorflow/crc32c.h"
#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/half.h"
#include "amct/formats/tensorflow/index_table.h"
#include "amct/formats/tensorflow/pickle.h"
#include "fixtures.h"

namespace amct::tensorflow {
namespace {

using namespace std::string_literals;

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Crc32c, AgreesWithPublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  const std::string text = "a text whose length is no multiple of eight";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc32c(text.substr(cut), crc32c(text.substr(0, cut))), crc32c(text));
}

TEST(OrderedCode, PutsNumbersInOrder) {
  std::string last;
  for (const std::int64_t start : {0L, 1L, 63L, 64L, 8191L, 8192L, 1L << 20, 1L << 40, 1L << 62}) {
    const std::string key = slice_key("t", std::vector<SliceRange>{{start, 1}});
    EXPECT_LT(last, key) << start;
    last = key;
  }
  EXPECT_EQ(slice_key("t\0u"s, std::vector<SliceRange>{{0, -1}, {64, 256}}),
            "\x00t\x00\xffu\x00\x01\x01\x02\x80\x7f\xc0\x40\xc1\x00"s);
}

TEST(Half, KeepsEveryValue) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_from_half(half);
    if (value == value) {
      EXPECT_EQ(half_from_float(value), half);
    }
  }
  EXPECT_EQ(half_from_float(65519.0F), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0F), 0x7c00);
  EXPECT_EQ(half_from_float(1.0F + 0x1p-11F), 0x3c00);  // ties to even
  EXPECT_EQ(half_from_float(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(half_from_float(0x1p-25F), 0);
}

TEST(IndexTable, RoundTripsManyEntries) {
  std::map<std::string, std::string> entries;
  for (int i = 0; i < 20000; ++i) entries["key/" + std::to_string(i)] = std::string(i % 50, 'v');
  std::map<std::string, std::string> read;
  read_table(write_table(entries),
             [&](std::string_view key, std::string_view value) { read.emplace(key, value); });
  EXPECT_EQ(read, entries);
}

TEST(IndexTable, NoticesEveryChangedByte) {
  const std::string table = write_table({{"a", "1"}, {"b", "2"}});
  const auto read = [](const std::string& bytes) {
    std::string all;
    read_table(bytes, [&](std::string_view key, std::string_view value) { (all += key) += value; });
    return all;
  };
  EXPECT_EQ(read(table), "a1b2");
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_NE(error_of([&] { read(table.substr(0, i)); }), "no error") << i;
    std::string damaged = table;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x15);
    try {  // the footer's padding and the unused filter block mean nothing
      EXPECT_EQ(read(damaged), "a1b2") << i;
    } catch (const Error& error) {  // a wrong handle may point at a byte that says "compressed"
      const std::string message = error.what();
      EXPECT_TRUE(message.find("damaged") != std::string::npos ||
                  message.find("compressed") != std::string::npos)
          << message;
    }
  }
}

TEST(CheckpointReader, PutsPartitionsTogether) {
  const CheckpointReader reader(fixture("train"));
  const CheckpointEntry* entry = reader.find("a/kernel");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->dims, (std::vector<std::int64_t>{3, 3, 4, 6}));
  EXPECT_EQ(entry->slices.size(), 2U);
  const std::vector<float> values = floats(reader.read("a/kernel"));
  // make_fixtures.py: part p holds 1000 p + 0...107 in [3, 3, 2, 6].
  for (std::size_t hw = 0; hw < 9; ++hw)
    for (std::size_t in = 0; in < 4; ++in)
      for (std::size_t out = 0; out < 6; ++out)
        EXPECT_EQ(values[(hw * 4 + in) * 6 + out],
                  static_cast<float>(1000 * (in / 2) + (hw * 2 + in % 2) * 6 + out));
}

TEST(CheckpointReader, KnowsEveryType) {
  const CheckpointReader reader(fixture("types"));
  EXPECT_EQ(reader.tensors().size(), 19U);
  for (const auto& [key, entry] : reader.tensors()) {
    if (key != "empty" && key != "scalar") {
      EXPECT_EQ(data_type_name(entry.data_type), key);
    }
    reader.raw(key, entry);
  }
  EXPECT_EQ(floats(reader.read("float32")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(floats(reader.read("scalar")), std::vector<float>{7});
}

void expect_equal(const CheckpointReader& a, const CheckpointReader& b) {
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& [key, entry] : a.tensors()) {
    const CheckpointEntry& other = b.tensors().at(key);
    EXPECT_EQ(entry.data_type, other.data_type);
    EXPECT_EQ(entry.dims, other.dims);
    EXPECT_EQ(entry.slices, other.slices);
    EXPECT_EQ(a.read(key), b.read(key)) << key;
  }
}

TEST(CheckpointWriter, CopiesAllShardsAndTypesIntoOne) {
  const Folder folder;
  for (const char* name : {"train", "types"}) {
    const CheckpointReader from(folder / name);
    CheckpointWriter writer(folder / "copy");
    for (const auto& [key, entry] : from.tensors()) writer.copy(from, key);
    std::vector<AtomicFile> files = writer.finish();
    EXPECT_FALSE(std::filesystem::exists(folder / "copy.index") && name == "train"s);
    for (AtomicFile& file : files) file.commit();
    expect_equal(from, CheckpointReader(folder / "copy"));
  }
}

TEST(CheckpointWriter, WritesWhatTensorFlowWrites) {
  // One shard, no slices: the bytes are those of TensorFlow's own writer.
  const Folder folder;
  const CheckpointReader from(folder / "types");
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [key, entry] : from.tensors()) order.emplace_back(entry.offset, key);
  std::ranges::sort(order);
  CheckpointWriter writer(folder / "copy");
  for (const auto& [offset, key] : order) writer.copy(from, key);
  for (AtomicFile& file : writer.finish()) file.commit();
  EXPECT_EQ(folder.read("copy.index"), folder.read("types.index"));
  EXPECT_EQ(folder.read("copy.data-00000-of-00001"), folder.read("types.data-00000-of-00001"));
}

TEST(CheckpointReader, SaysWhatIsWrong) {
  const Folder folder;
  const auto open = [&] { CheckpointReader reader(folder / "train"); };
  const std::string shard = folder.read("train.data-00001-of-00003");
  folder.write("train.data-00001-of-00003", shard.substr(0, shard.size() - 1));
  expect_error(open, "data-00001-of-00003' ends too early");
  std::filesystem::remove(folder / "train.data-00001-of-00003");
  expect_error(open, "data-00001-of-00003' is missing (the checkpoint has 3)");
  folder.write("train.data-00001-of-00003", shard);
  const std::string index = folder.read("train.index");
  for (std::size_t size = 0; size < index.size(); ++size) {
    folder.write("train.index", index.substr(0, size));
    expect_error(open, "is damaged");
  }
  std::filesystem::remove(folder / "train.index");
  expect_error(open, "train.index': there is no such file");
  folder.write("train", "V1");
  expect_error(open, "Saver(write_version=tf.compat.v1.train.SaverDef.V2)");
  expect_error([&] { CheckpointReader reader(folder / "nothing"); }, "no such file");
  expect_error([&] { CheckpointReader reader(folder / "types.data-00000-of-00001"); },
               "is one file of a checkpoint");
}

TEST(CheckpointReader, ChecksDataWhenTheyAreRead) {
  const Folder folder;
  const std::string data = folder.read("types.data-00000-of-00001");
  for (const char* key : {"float32", "string", "int8"}) {
    const CheckpointEntry entry = CheckpointReader(folder / "types").tensors().at(key);
    for (std::uint64_t i = 0; i < entry.size; ++i) {
      std::string damaged = data;
      damaged[entry.offset + i] = static_cast<char>(damaged[entry.offset + i] ^ 1);
      folder.write("types.data-00000-of-00001", damaged);
      const CheckpointReader reader(folder / "types");
      expect_error([&] { reader.read(key); }, "checksum of '"s + key + "'");
    }
  }
}

/// A checkpoint whose index holds these entries.
void write_index(const Folder& folder, std::map<std::string, std::string> entries) {
  entries.emplace("", "\x08\x01"s);
  folder.write("types.index", write_table(entries));
}

TEST(CheckpointReader, RefusesAbsurdEntriesBeforeItAllocates) {
  const Folder folder;
  const auto open = [&] { CheckpointReader reader(folder / "types"); };
  // float32 [2^40, 2^40]
  write_index(folder, {{"huge",
                        "\x08\x01\x12\x10\x12\x06\x08\x80\x80\x80\x80\x80\x20"s
                        "\x12\x06\x08\x80\x80\x80\x80\x80\x20"s}});
  expect_error(open, "'huge'");
  // size 2^62
  write_index(folder, {{"long", "\x08\x07\x28\x80\x80\x80\x80\x80\x80\x80\x80\x40"s}});
  expect_error(open, "ends too early");
  // shard 5, then a negative offset
  write_index(folder, {{"far", "\x08\x01\x18\x05"s}});
  expect_error(open, "shard 5 of 1");
  write_index(folder, {{"low", "\x08\x01\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s}});
  expect_error(open, "negative");
  // a slice that has no entry
  write_index(folder, {{"parts", "\x08\x01\x12\x04\x12\x02\x08\x02\x3a\x04\x0a\x02\x10\x01"s}});
  expect_error(open, "a slice without data");
  folder.write("types.index", write_table({{"", "\x08\xff\xff\xff\xff\x07"s}}));
  expect_error(open, "shards");
  folder.write("types.index", write_table({{"", "\x08\x01\x10\x01"s}}));
  expect_error(open, "big-endian");
  folder.write("types.index", write_table({{"a", ""}}));
  expect_error(open, "no header");
}

TEST(Pickle, WritesProtocol2) {
  const PyValue value{py_dict({{"n", {}},
                               {"b", {true}},
                               {"i", {std::int64_t{-2}}},
                               {"t", py_tuple({1})},
                               {"l", py_list({"x"})}})};
  EXPECT_EQ(pickle(value),
            "\x80\x02}(X\x01\0\0\0nNX\x01\0\0\0b\x88X\x01\0\0\0iJ\xfe\xff\xff\xff"
            "X\x01\0\0\0t(J\x01\0\0\0tX\x01\0\0\0l](X\x01\0\0\0xeu."s);
}

}  // namespace
}  // namespace amct::tensorflow
