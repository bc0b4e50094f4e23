#include "amct/formats/tensorflow/index_table.h"

#include <leveldb/comparator.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "amct/base/error.h"

namespace amct::tensorflow {
namespace {

constexpr std::size_t kFooterBytes = 48;
constexpr std::size_t kTrailerBytes = 5;  // kind of compression, CRC
constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;

class MemoryFile : public leveldb::RandomAccessFile {
 public:
  explicit MemoryFile(std::string_view bytes) : bytes_(bytes) {}
  leveldb::Status Read(std::uint64_t offset, std::size_t count, leveldb::Slice* result,
                       char* /*scratch*/) const override {
    const std::string_view part = offset < bytes_.size()
                                      ? bytes_.substr(static_cast<std::size_t>(offset), count)
                                      : std::string_view();
    *result = leveldb::Slice(part.data(), part.size());
    return leveldb::Status::OK();
  }

 private:
  std::string_view bytes_;
};

class StringFile : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

  std::string bytes;
};

[[noreturn]] void raise_damaged(const char* what) {
  raise(ErrorCode::kInvalidModel, "it is damaged ({}); copy or save the checkpoint again", what);
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  raise_damaged("a number is cut off");
}

/// The block that the handle at the front of `handle` names, when it lies in the file. LevelDB
/// allocates what a handle asks for before it reads.
std::string_view checked_block(std::string_view file, std::string_view& handle) {
  const std::uint64_t offset = take_varint(handle);
  const std::uint64_t size = take_varint(handle);
  const std::uint64_t end = file.size() - kFooterBytes;
  if (offset > end || size > end - offset || end - offset - size < kTrailerBytes)
    raise_damaged("a block lies outside the file");
  const auto begin = static_cast<std::size_t>(offset);
  const auto count = static_cast<std::size_t>(size);
  constexpr char kPlain = 0;
  constexpr char kSnappy = 1;
  const char compression = file[begin + count];
  if (compression == kSnappy)
    raise(
        ErrorCode::kInvalidModel,
        "its table is compressed, which TensorFlow's V2 checkpoints never are; save it again with "
        "tf.compat.v1.train.Saver");
  if (compression != kPlain) raise_damaged("a block is of an unknown kind");
  return file.substr(begin, count);
}

void check_block_handles(std::string_view file) {
  if (file.size() < kFooterBytes) raise_damaged("it is too short");
  std::string_view footer = file.substr(file.size() - kFooterBytes);
  std::uint64_t magic;
  std::memcpy(&magic, footer.data() + kFooterBytes - sizeof magic, sizeof magic);
  if (magic != kMagic) raise_damaged("its end is missing, or it is no checkpoint index");
  checked_block(file, footer);
  const std::string_view index = checked_block(file, footer);
  if (index.size() < sizeof(std::uint32_t)) raise_damaged("its index block is too short");
  std::uint32_t restarts;
  std::memcpy(&restarts, index.data() + index.size() - sizeof restarts, sizeof restarts);
  const std::uint64_t tail = (std::uint64_t{restarts} + 1) * sizeof restarts;
  if (tail > index.size()) raise_damaged("its index block is too short");
  std::string_view entries = index.substr(0, index.size() - static_cast<std::size_t>(tail));
  while (!entries.empty()) {
    take_varint(entries);
    const std::uint64_t key_bytes = take_varint(entries);
    const std::uint64_t value_bytes = take_varint(entries);
    if (key_bytes > entries.size() || value_bytes > entries.size() - key_bytes)
      raise_damaged("an entry leaves its block");
    entries.remove_prefix(static_cast<std::size_t>(key_bytes));
    std::string_view handle = entries.substr(0, static_cast<std::size_t>(value_bytes));
    checked_block(file, handle);
    entries.remove_prefix(static_cast<std::size_t>(value_bytes));
  }
}

void check(const leveldb::Status& status) {
  if (!status.ok()) raise_damaged(status.ToString().c_str());
}

}  // namespace

void read_table(std::string_view bytes,
                const std::function<void(std::string_view, std::string_view)>& visit) {
  check_block_handles(bytes);
  MemoryFile file(bytes);
  leveldb::Options options;
  options.paranoid_checks = true;
  leveldb::Table* opened = nullptr;
  check(leveldb::Table::Open(options, &file, bytes.size(), &opened));
  const std::unique_ptr<leveldb::Table> table(opened);
  leveldb::ReadOptions read;
  read.verify_checksums = true;
  read.fill_cache = false;
  const std::unique_ptr<leveldb::Iterator> entry(table->NewIterator(read));
  std::optional<std::string> last;
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    const leveldb::Slice key = entry->key();
    const leveldb::Slice value = entry->value();
    if (last && leveldb::Slice(*last).compare(key) >= 0) raise_damaged("its keys are not in order");
    last = key.ToString();
    visit({key.data(), key.size()}, {value.data(), value.size()});
  }
  check(entry->status());
}

std::string write_table(const std::map<std::string, std::string>& entries) {
  StringFile file;
  leveldb::Options options;
  options.compression = leveldb::kNoCompression;
  options.block_size = std::size_t{256} << 10;  // TensorFlow's own
  leveldb::TableBuilder builder(options, &file);
  for (const auto& [key, value] : entries) builder.Add(key, value);
  check(builder.Finish());
  return std::move(file.bytes);
}

}  // namespace amct::tensorflow
