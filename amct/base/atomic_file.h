#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace amct {

/// One output file that appears whole or not at all: data go to a file without a name in the same
/// folder, which commit() syncs and puts in place. Without commit(), also when the process is
/// killed, nothing is left and the previous file stays. Missing parent folders are created, and
/// removed again when nothing came into them. Mode 0640 (upstream_facts 1.10). Throws Error(kIo).
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;

  void write(std::string_view bytes);
  /// Flushes to disk, so that commit() is quick; for several files that appear together.
  void sync();
  /// Flushes to disk and renames; a no-op when called again.
  void commit();

  const std::filesystem::path& path() const { return path_; }
  /// Number of bytes written so far.
  std::uint64_t size() const { return size_; }

 private:
  /// The folders that were missing; takes those that are empty away again.
  class Folders {
   public:
    explicit Folders(const std::filesystem::path& folder);
    ~Folders();
    Folders(Folders&&) = default;
    Folders(const Folders&) = delete;
    Folders& operator=(const Folders&) = delete;
    Folders& operator=(Folders&&) = delete;

   private:
    std::vector<std::filesystem::path> created_;  // the innermost first
  };

  void open_named();
  void give_name();

  std::filesystem::path path_;
  Folders folders_;
  std::filesystem::path temporary_;  // empty: the file has no name yet
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// Writes a whole file atomically.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Reads a whole file; throws Error(kIo) that names it, also when it is larger than max_bytes.
std::string read_file(const std::filesystem::path& path,
                      std::uint64_t max_bytes = std::uint64_t{1} << 40);

}  // namespace amct
