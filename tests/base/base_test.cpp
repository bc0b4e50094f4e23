#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/base/thread_pool.h"

namespace amct {
namespace {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "amct.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::size_t entries() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++count;
    return count;
  }
  std::filesystem::path folder_;
};

TEST_F(FileTest, LeavesThePreviousFileWithoutCommit) {
  write_file(folder_ / "a", "old");
  {
    AtomicFile file(folder_ / "a");
    file.write("new");
  }
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1U);
  AtomicFile file(folder_ / "a");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_file(folder_ / "a"), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, CreatesParentFolders) {
  write_file(folder_ / "x" / "y" / "z", "content");
  EXPECT_EQ(read_file(folder_ / "x" / "y" / "z"), "content");
}

TEST_F(FileTest, LeavesNoFolderWithoutCommit) {
  {
    const AtomicFile abandoned(folder_ / "x" / "y" / "z");
    AtomicFile kept(folder_ / "kept" / "z");
    kept.commit();
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "kept" / "z"));
}

TEST_F(FileTest, OutlivesAnAbandonedFileOfItsNewFolder) {
  auto abandoned = std::make_unique<AtomicFile>(folder_ / "x" / "a");
  AtomicFile kept(folder_ / "x" / "b");
  kept.write("content");
  abandoned.reset();
  kept.commit();
  EXPECT_EQ(read_file(folder_ / "x" / "b"), "content");
}

TEST_F(FileTest, NamesWhatItCannotRead) {
  try {
    read_file(folder_ / "missing");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("missing"), std::string::npos);
  }
  EXPECT_THROW(read_file(folder_), Error);
  write_file(folder_ / "big", "12345");
  EXPECT_THROW(read_file(folder_ / "big", 4), Error);
}

TEST(ThreadPool, RunsEveryIndexOnce) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> hits(1000);
  parallel_for(pool, hits.size(), [&](std::size_t i) { ++hits[i]; });
  for (const auto& hit : hits) EXPECT_EQ(hit, 1);
  parallel_for(pool, 0, [](std::size_t) { FAIL(); });
}

TEST(ThreadPool, HandsExceptionsToTheCaller) {
  ThreadPool pool(2);
  EXPECT_THROW(parallel_for(pool, 10, [](std::size_t) { throw std::runtime_error("x"); }),
               std::runtime_error);
  pool.submit([] { throw std::runtime_error("y"); });
  EXPECT_THROW(pool.wait(), std::runtime_error);
  pool.wait();
}

TEST(Log, GoesToTheOneSink) {
  std::string seen;
  set_log_sink([&](LogLevel, std::string_view line) { seen = line; });
  log_warning("{} and {}", 1, 2);
  set_log_sink({});
  log_warning("dropped");
  EXPECT_EQ(seen, "1 and 2");
}

}  // namespace
}  // namespace amct
