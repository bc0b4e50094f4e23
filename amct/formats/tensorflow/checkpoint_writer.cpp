#include <fmt/core.h>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/crc32c.h"
#include "amct/formats/tensorflow/index_table.h"
#include "amct/formats/tensorflow/schema.h"

namespace amct::tensorflow {
namespace {

std::string header_bytes() {
  schema::BundleHeader header;
  header.set_num_shards(1);
  header.set_version("\x08\x01");  // VersionDef, producer 1
  return header.SerializeAsString();
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (byte < 0x20 || byte == 0x7F)
      result += fmt::format("\\{:03o}", byte);
    else
      result += c;
  }
  return result + '"';
}

}  // namespace

CheckpointWriter::CheckpointWriter(const std::filesystem::path& prefix) : prefix_(prefix) {
  data_.emplace(prefix.string() + ".data-00000-of-00001");
  index_.emplace("", header_bytes());
}

void CheckpointWriter::append(std::string key, const CheckpointEntry& entry,
                              std::string_view data) {
  schema::BundleEntry message;
  if (!message.ParseFromString(entry.bytes))
    raise(ErrorCode::kInternal, "an entry of the checkpoint index is lost");
  message.clear_shard_id();
  message.clear_offset();
  if (data_->size() > 0) message.set_offset(static_cast<std::int64_t>(data_->size()));
  data_->write(data);
  index_.emplace(std::move(key), message.SerializeAsString());
}

void CheckpointWriter::copy(const CheckpointReader& from, const std::string& key) {
  const CheckpointEntry& entry = from.tensors().at(key);
  if (entry.slices.empty()) {
    append(key, entry, from.raw(key, entry));
    return;
  }
  index_.emplace(key, entry.bytes);
  for (const auto& ranges : entry.slices) {
    const CheckpointEntry& part = from.slice(key, ranges);
    append(slice_key(key, ranges), part, from.raw(key, part));
  }
}

void CheckpointWriter::add(const std::string& key, std::int32_t data_type,
                           std::span<const std::int64_t> dims, std::string_view bytes) {
  schema::BundleEntry message;
  message.set_dtype(data_type);
  for (const std::int64_t dim : dims) message.mutable_shape()->add_dim()->set_size(dim);
  message.set_size(static_cast<std::int64_t>(bytes.size()));
  message.set_crc32c(mask_crc(crc32c(bytes)));
  CheckpointEntry entry;
  entry.bytes = message.SerializeAsString();
  append(key, entry, bytes);
}

std::vector<AtomicFile> CheckpointWriter::finish() {
  std::vector<AtomicFile> files;
  files.push_back(std::move(*data_));
  data_.reset();
  files.emplace_back(prefix_.string() + ".index").write(write_table(index_));
  return files;
}

std::string checkpoint_state(std::string_view name) {
  const std::string text = quoted(name);
  return fmt::format("model_checkpoint_path: {}\nall_model_checkpoint_paths: {}\n", text, text);
}

}  // namespace amct::tensorflow
