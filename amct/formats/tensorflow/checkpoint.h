#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amct/base/atomic_file.h"
#include "amct/base/mapped_file.h"
#include "amct/formats/tensorflow/ordered_code.h"

namespace amct::tensorflow {

/// What the index of a checkpoint says of one tensor, or of one slice of a partitioned one.
struct CheckpointEntry {
  std::int32_t data_type = 0;
  std::vector<std::int64_t> dims;
  std::int32_t shard = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t masked_crc = 0;
  /// Set for a partitioned tensor: its data are in these slices' own entries.
  std::vector<std::vector<SliceRange>> slices;
  /// The index's own bytes, with what the fields above do not model.
  std::string bytes;
};

/// A V2 checkpoint, "<prefix>.index" and "<prefix>.data-XXXXX-of-XXXXX". Opening checks the index
/// and the sizes of everything in it; data are mapped, and their checksums checked when they are
/// read. All errors name the file. Throws Error(kIo | kInvalidModel | kUnsupported).
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::filesystem::path& prefix);

  /// Keys as users know them, in order (entries of slices are left out).
  const std::map<std::string, CheckpointEntry, std::less<>>& tensors() const { return tensors_; }
  const CheckpointEntry* find(std::string_view key) const;
  /// The entry of a slice of the partitioned tensor `key`.
  const CheckpointEntry& slice(std::string_view key, std::span<const SliceRange> slice) const;

  /// All bytes of a tensor of a type with a fixed size, row-major; slices are put together.
  std::string read(std::string_view key) const;
  /// Bytes of an entry without slices, as stored; the checksum is checked. Valid as long as this.
  std::string_view raw(std::string_view key, const CheckpointEntry& entry) const;

  const std::filesystem::path& prefix() const { return prefix_; }

 private:
  void take_entry(std::string_view key, std::string_view value);
  void open_shards();
  void check_entry(const std::string& key, const CheckpointEntry& entry) const;
  void check_slices(const std::string& key, const CheckpointEntry& entry) const;
  std::string shard_path(std::int32_t shard) const;

  std::filesystem::path prefix_;
  std::int32_t shard_count_ = -1;
  std::map<std::string, CheckpointEntry, std::less<>> tensors_;
  std::map<std::string, CheckpointEntry, std::less<>> slices_;
  std::vector<std::shared_ptr<const MappedFile>> shards_;
};

/// A new V2 checkpoint of one shard. Data go to disk as they are added; nothing is visible before
/// the files that finish() returns are committed.
class CheckpointWriter {
 public:
  explicit CheckpointWriter(const std::filesystem::path& prefix);

  /// Copies a tensor, with its slices, without holding it in memory.
  void copy(const CheckpointReader& from, const std::string& key);
  void add(const std::string& key, std::int32_t data_type, std::span<const std::int64_t> dims,
           std::string_view bytes);
  /// The shard and the index, to be committed in this order.
  std::vector<AtomicFile> finish();

 private:
  void append(std::string key, const CheckpointEntry& entry, std::string_view data);

  std::filesystem::path prefix_;
  std::optional<AtomicFile> data_;
  std::map<std::string, std::string> index_;
};

/// Text of the file "checkpoint", which says that `name` (relative to it) is the latest one.
std::string checkpoint_state(std::string_view name);

}  // namespace amct::tensorflow
