#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace amct {

/// A file's bytes, mapped for reading; the mapping lives as long as the object. Files are replaced,
/// never changed in place, by AtomicFile, so a mapping stays valid while its file is written anew.
class MappedFile {
 public:
  /// Throws Error(kIo) that names the file and the reason (missing, a folder, no permission).
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace amct
