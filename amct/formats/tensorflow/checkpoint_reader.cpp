#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/crc32c.h"
#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/index_table.h"
#include "amct/formats/tensorflow/printable.h"
#include "amct/formats/tensorflow/schema.h"
#include "amct/formats/tensorflow/slice_copy.h"
#include "amct/formats/tensorflow/string_tensor.h"

namespace amct::tensorflow {
namespace {

constexpr std::int32_t kMaxShards = 99999;  // five digits in the file name
constexpr char kSliceMark = '\0';           // first byte of the keys of slices

[[noreturn]] void raise_entry(std::string_view key, const std::string& what) {
  raise(ErrorCode::kInvalidModel, "the entry of '{}' is damaged ({}); save the checkpoint again",
        printable(key), what);
}

/// Dims times the bytes of an element; empty when negative or beyond 64 bits.
std::optional<std::uint64_t> byte_count(std::span<const std::int64_t> dims, std::uint64_t element) {
  std::uint64_t count = element;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    const auto extent = static_cast<std::uint64_t>(dim);
    if (extent != 0 && count > std::numeric_limits<std::uint64_t>::max() / extent)
      return std::nullopt;
    count *= extent;
  }
  return count;
}

CheckpointEntry parse_entry(std::string_view key, std::string_view value) {
  schema::BundleEntry message;
  if (!message.ParseFromArray(value.data(), static_cast<int>(value.size())))
    raise_entry(key, "it cannot be read");
  CheckpointEntry entry;
  entry.bytes = value;
  entry.data_type = message.dtype();
  for (const schema::Dim& dim : message.shape().dim()) entry.dims.push_back(dim.size());
  entry.shard = message.shard_id();
  if (message.offset() < 0 || message.size() < 0) raise_entry(key, "a negative size or offset");
  entry.offset = static_cast<std::uint64_t>(message.offset());
  entry.size = static_cast<std::uint64_t>(message.size());
  entry.masked_crc = message.crc32c();
  for (const schema::TensorSlice& slice : message.slices()) {
    std::vector<SliceRange>& ranges = entry.slices.emplace_back();
    for (const schema::SliceExtent& extent : slice.extent())
      ranges.push_back({extent.start(), extent.has_length() ? extent.length() : -1});
  }
  return entry;
}

std::string v1_hint(const std::filesystem::path& prefix) {
  return fmt::format(
      "'{}' looks like a checkpoint of version V1 (one file, no .index); convert it: restore it in "
      "TensorFlow and save it with "
      "tf.compat.v1.train.Saver(write_version=tf.compat.v1.train.SaverDef.V2)",
      prefix.string());
}

std::filesystem::path index_path(const std::filesystem::path& prefix) {
  const std::filesystem::path index = prefix.string() + ".index";
  std::error_code error;
  if (std::filesystem::exists(index, error)) return index;
  const std::string text = prefix.string();
  if (const auto dot = text.rfind('.'); dot != std::string::npos) {
    const std::string suffix = text.substr(dot);
    if (suffix == ".index" || suffix == ".meta" || suffix.starts_with(".data-"))
      raise(ErrorCode::kUsage,
            "'{}' is one file of a checkpoint; give what its files have in common: '{}'", text,
            text.substr(0, dot));
  }
  if (std::filesystem::is_regular_file(prefix, error))
    raise(ErrorCode::kUnsupported, "{}", v1_hint(prefix));
  raise(ErrorCode::kIo,
        "cannot read '{}': there is no such file; give the prefix of the .index and .data files",
        index.string());
}

}  // namespace

CheckpointReader::CheckpointReader(const std::filesystem::path& prefix) : prefix_(prefix) {
  const std::filesystem::path path = index_path(prefix);
  const auto file = MappedFile::open(path);
  try {
    read_table(file->text(),
               [this](std::string_view key, std::string_view value) { take_entry(key, value); });
    if (shard_count_ < 0) raise(ErrorCode::kInvalidModel, "it has no header; it is no V2 index");
    open_shards();
    for (const auto& [key, entry] : tensors_)
      if (entry.slices.empty())
        check_entry(key, entry);
      else
        check_slices(key, entry);
    for (const auto& [key, entry] : slices_) check_entry(key, entry);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw Error(error.code(), fmt::format("cannot use the checkpoint index '{}': {}", path.string(),
                                          error.what()));
  }
}

void CheckpointReader::take_entry(std::string_view key, std::string_view value) {
  if (key.empty()) {
    schema::BundleHeader header;
    if (!header.ParseFromArray(value.data(), static_cast<int>(value.size())))
      raise(ErrorCode::kInvalidModel, "its header cannot be read");
    if (header.endianness() != 0)
      raise(ErrorCode::kUnsupported,
            "it was written on a big-endian machine; save the checkpoint again on another one");
    shard_count_ = header.num_shards();
    if (shard_count_ < 0 || shard_count_ > kMaxShards)
      raise(ErrorCode::kInvalidModel, "its header counts {} shards", shard_count_);
    return;
  }
  (key.front() == kSliceMark ? slices_ : tensors_).emplace(key, parse_entry(key, value));
}

std::string CheckpointReader::shard_path(std::int32_t shard) const {
  return fmt::format("{}.data-{:05}-of-{:05}", prefix_.string(), shard, shard_count_);
}

void CheckpointReader::open_shards() {
  // A header may count shards by the thousand: only those that exist are held.
  for (std::int32_t shard = 0; shard < shard_count_; ++shard) {
    const std::string path = shard_path(shard);
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      raise(ErrorCode::kIo,
            "the shard '{}' is missing (the checkpoint has {}); copy all files of the checkpoint",
            path, shard_count_);
    shards_.push_back(MappedFile::open(path));
  }
}

void CheckpointReader::check_entry(const std::string& key, const CheckpointEntry& entry) const {
  if (entry.shard < 0 || entry.shard >= shard_count_)
    raise_entry(key, fmt::format("shard {} of {}", entry.shard, shard_count_));
  const std::uint64_t available = shards_[static_cast<std::size_t>(entry.shard)]->bytes().size();
  if (entry.offset > available || entry.size > available - entry.offset)
    raise(ErrorCode::kInvalidModel,
          "the shard '{}' ends too early: '{}' lies at bytes {} to {}, the file has {}; copy all "
          "files "
          "of the checkpoint again",
          shard_path(entry.shard), printable(key), entry.offset, entry.offset + entry.size,
          available);
  const auto element = element_bytes(entry.data_type);
  if (!element) return;
  if (byte_count(entry.dims, *element) != entry.size)
    raise_entry(key, fmt::format("its shape and its {} bytes disagree", entry.size));
}

void CheckpointReader::check_slices(const std::string& key, const CheckpointEntry& entry) const {
  const auto element = element_bytes(entry.data_type);
  const auto whole = element ? byte_count(entry.dims, *element) : std::nullopt;
  if (!whole) raise_entry(key, "a partitioned tensor without a fixed size");
  std::uint64_t covered = 0;
  for (const auto& ranges : entry.slices) {
    const CheckpointEntry& part = slice(key, ranges);
    if (part.data_type != entry.data_type) raise_entry(key, "slices of other types");
    std::vector<std::int64_t> dims;
    if (!resolve_slice(entry.dims, ranges, dims) || dims != part.dims)
      raise_entry(key, "a slice that does not fit");
    if (part.size > *whole - covered) raise_entry(key, "slices that overlap");
    covered += part.size;
  }
  if (covered != *whole) raise_entry(key, "slices that do not cover it");
}

const CheckpointEntry* CheckpointReader::find(std::string_view key) const {
  const auto found = tensors_.find(key);
  return found != tensors_.end() ? &found->second : nullptr;
}

const CheckpointEntry& CheckpointReader::slice(std::string_view key,
                                               std::span<const SliceRange> ranges) const {
  const auto found = slices_.find(slice_key(key, ranges));
  if (found == slices_.end()) raise_entry(key, "a slice without data");
  return found->second;
}

std::string_view CheckpointReader::raw(std::string_view key, const CheckpointEntry& entry) const {
  const std::string_view data = shards_[static_cast<std::size_t>(entry.shard)]->text().substr(
      static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
  // Variants hold a checksum of their own in each element and are only carried.
  if (entry.data_type == kVariant) return data;
  const auto crc = entry.data_type == kString ? string_tensor_crc(data, entry.dims)
                                              : std::optional(crc32c(data));
  if (!crc || mask_crc(*crc) != entry.masked_crc)
    raise(ErrorCode::kInvalidModel,
          "the checksum of '{}' in '{}' is wrong: the file is damaged; copy or save the checkpoint "
          "again",
          printable(key), shard_path(entry.shard));
  return data;
}

std::string CheckpointReader::read(std::string_view key) const {
  const CheckpointEntry* entry = find(key);
  if (entry == nullptr)
    raise(ErrorCode::kInvalidModel, "the checkpoint '{}' has no tensor '{}'", prefix_.string(),
          printable(key));
  if (entry->slices.empty()) return std::string(raw(key, *entry));
  const std::uint64_t element = *element_bytes(entry->data_type);
  std::string whole(static_cast<std::size_t>(*byte_count(entry->dims, element)), '\0');
  for (const auto& ranges : entry->slices)
    copy_slice(entry->dims, ranges, static_cast<std::size_t>(element), raw(key, slice(key, ranges)),
               whole);
  return whole;
}

}  // namespace amct::tensorflow
