#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "amct/runtime/input_file.h"

namespace amct::runtime {

/// One member of a ZIP file.
struct ZipEntry {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t header_offset = 0;
};

/// A ZIP file as numpy.savez and savez_compressed write it, ZIP64 included. Throws
/// Error(kInvalidData) that names the file for anything damaged, encrypted or packed otherwise.
class ZipArchive {
 public:
  explicit ZipArchive(const std::filesystem::path& path);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  /// The first min(limit, entry.bytes) bytes of a member. The checksum is compared when all are
  /// read.
  std::shared_ptr<std::vector<std::byte>> read(const ZipEntry& entry,
                                               std::uint64_t limit = ~std::uint64_t{0}) const;

 private:
  struct Directory {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint64_t entries;
  };
  [[noreturn]] void refuse(const std::string& why) const;
  Directory find_directory() const;
  void read_directory(const Directory& directory);
  std::uint64_t data_offset(const ZipEntry& entry) const;

  InputFile file_;
  std::vector<ZipEntry> entries_;
};

}  // namespace amct::runtime
