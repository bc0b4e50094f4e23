#include "amct/runtime/npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <vector>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/runtime/zip_archive.h"
#include "tests/support/temp_folder.h"

namespace amct::runtime {
namespace {

const std::string kFolder = AMCT_TEST_DIR "/golden/npy/";

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

ir::Tensor load(const std::string& name) {
  const std::string content = read_file(kFolder + name);
  return parse_npy(bytes_of(content), name);
}

ir::Tensor expected() {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  return ir::Tensor::of<float>({2, 3, 4}, values);
}

TEST(Npy, ReadsEveryOrderAndVersionThatNumpyWrites) {
  EXPECT_EQ(load("c_order.npy"), expected());
  EXPECT_EQ(load("fortran_order.npy"), expected());
  EXPECT_EQ(load("big_endian.npy"), expected());
  EXPECT_EQ(load("version2.npy"), expected());
  EXPECT_EQ(load("scalar.npy"), ir::Tensor::scalar(7.0F));
  EXPECT_EQ(load("empty.npy").dims(), (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(ir::to_float(load("float64.npy")), ir::to_float(expected()));
}

TEST(Npy, RefusesArraysThatAreNotPlainNumbers) {
  for (const char* name : {"text.npy", "object.npy", "record.npy"})
    EXPECT_THROW(load(name), Error) << name;
}

TEST(Npy, EveryCutOffFileIsRefused) {
  const std::string content = read_file(kFolder + "c_order.npy");
  for (std::size_t length = 0; length < content.size(); ++length) {
    const std::string part = content.substr(0, length);
    EXPECT_THROW(parse_npy(bytes_of(part), "cut"), Error) << length;
  }
}

std::string with_header(const std::string& dictionary) {
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(dictionary.size()), '\x00'};
  return file + dictionary;
}

TEST(Npy, HostileHeadersAreRefused) {
  for (const char* dictionary :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,", "{'descr': '", "{", "",
        "{'descr': '<f4', 'shape': (1,), }", "{'descr': 'f4', 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }"}) {
    const std::string file = with_header(dictionary);
    EXPECT_THROW(parse_npy(bytes_of(file), "hostile"), Error) << dictionary;
  }
}

TEST(Npy, WhatIsWrittenIsReadBack) {
  const test::TempFolder folder;
  for (const ir::Tensor& tensor : {expected(), ir::Tensor::scalar(std::int64_t{-5}),
                                   ir::Tensor::zeros(ir::DataType::kBool, {0, 2}),
                                   ir::Tensor::zeros(ir::DataType::kFloat16, {3})}) {
    write_npy(folder / "t.npy", tensor);
    const std::string content = read_file(folder / "t.npy");
    EXPECT_EQ(parse_npy(bytes_of(content), "t"), tensor);
    const NpyHeader header = parse_npy_header(bytes_of(content), "t");
    EXPECT_EQ(header.data_offset % 64, 0U);
  }
  const std::vector<std::uint16_t> bits = {0x3F80, 0xC000};  // 1, -2 in bfloat16
  auto owner = std::make_shared<std::vector<std::uint16_t>>(bits);
  const auto view = std::as_bytes(std::span<const std::uint16_t>(*owner));
  write_npy(folder / "b.npy", ir::Tensor(ir::DataType::kBFloat16, {2}, owner, view));
  const std::string content = read_file(folder / "b.npy");
  EXPECT_EQ(ir::to_float(parse_npy(bytes_of(content), "b")), (std::vector<float>{1.0F, -2.0F}));
}

TEST(ZipArchive, ReadsStoredAndDeflatedMembers) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const ZipArchive archive(kFolder + name);
    ASSERT_EQ(archive.entries().size(), 2U);
    EXPECT_EQ(archive.entries()[0].name, "x.npy");
    EXPECT_EQ(parse_npy(*archive.read(archive.entries()[0]), name), expected());
    EXPECT_EQ(ir::to_int64(parse_npy(*archive.read(archive.entries()[1]), name)),
              (std::vector<std::int64_t>{1, 5}));
    const auto start = archive.read(archive.entries()[0], 20);
    ASSERT_EQ(start->size(), 20U);
  }
}

TEST(ZipArchive, DamagedFilesGiveAnErrorOrAreCaughtByTheChecksum) {
  const test::TempFolder folder;
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string content = read_file(kFolder + name);
    const auto attempt = [&](const std::string& damaged) {
      folder.write("d.npz", damaged);
      try {
        const ZipArchive archive(folder / "d.npz");
        for (const ZipEntry& entry : archive.entries()) parse_npy(*archive.read(entry), "d");
      } catch (const Error&) {
        return true;
      }
      return false;
    };
    for (std::size_t length = 0; length < content.size(); ++length)
      EXPECT_TRUE(attempt(content.substr(0, length))) << length;
    for (std::size_t i = 0; i < content.size(); ++i) {
      std::string damaged = content;
      damaged[i] = static_cast<char>(damaged[i] ^ 0xFF);
      attempt(damaged);  // must not crash or hang; unused header fields may change freely
    }
    std::string damaged = content;
    damaged[content.size() / 4] = static_cast<char>(damaged[content.size() / 4] ^ 1);
    EXPECT_TRUE(attempt(damaged));
  }
}

}  // namespace
}  // namespace amct::runtime
