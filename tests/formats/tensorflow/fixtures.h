#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/meta_graph.h"

namespace amct::tensorflow {

/// Files of make_fixtures.py: "train" (partitioned, three shards) and "types".
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(AMCT_TEST_DIR) / "formats/tensorflow/data" / name;
}

inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_error(const std::function<void()>& action, const std::string& part) {
  const std::string message = error_of(action);
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

/// A folder of the test's own, with copies of the fixtures.
class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("amct_tf_") + test->test_suite_name() + "_" + test->name());
    std::filesystem::remove_all(path_);
    std::filesystem::copy(fixture(""), path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::string read(const std::string& name) const { return read_file(path_ / name); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace amct::tensorflow
