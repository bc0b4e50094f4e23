#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace amct::runtime {

/// A regular file opened for reading. Throws Error(kIo) that names it.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `out` from the offset; throws Error(kIo) when the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> out) const;
  std::shared_ptr<std::vector<std::byte>> read(std::uint64_t offset, std::uint64_t count) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace amct::runtime
