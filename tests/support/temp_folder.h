#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace amct::test {

/// A folder that is gone at the end of the test.
struct TempFolder {
  std::filesystem::path path;

  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "amct_test_XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path / name; }
  std::string text(const std::string& name = "") const { return (path / name).string(); }

  void write(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  }
  template <typename T>
  void write_values(const std::string& name, std::span<const T> values) const {
    write(name, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
};

}  // namespace amct::test
