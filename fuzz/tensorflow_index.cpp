// Checkpoint indexes: hostile bytes give an Error, never a crash or much memory; what is accepted
// can be read, or says which checksum is wrong.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/index_table.h"

namespace {

/// A folder with shards for indexes of one and of three.
const std::string& prefix() {
  static const std::string path = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "fuzz_index_XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) std::abort();
    for (const char* suffix : {"0-of-00001", "0-of-00003", "1-of-00003", "2-of-00003"})
      std::ofstream(folder + "/c.data-0000" + suffix) << std::string(2048, '\0');
    return folder + "/c";
  }();
  return path;
}

/// The entries again, under checksums that are right: mutations reach what is behind them.
void read_entries(std::string_view bytes) {
  std::map<std::string, std::string> entries;
  for (std::size_t at = 0; at + 2 <= bytes.size();) {
    const std::size_t key = static_cast<unsigned char>(bytes[at]);
    const std::size_t value = static_cast<unsigned char>(bytes[at + 1]);
    entries.emplace(bytes.substr(std::min(at + 2, bytes.size()), key),
                    bytes.substr(std::min(at + 2 + key, bytes.size()), value));
    at += 2 + key + value;
  }
  std::ofstream(prefix() + ".index", std::ios::binary) << amct::tensorflow::write_table(entries);
}

void read_checkpoint() {
  try {
    const amct::tensorflow::CheckpointReader reader(prefix());
    for (const auto& [key, entry] : reader.tensors()) {
      try {
        reader.read(key);
      } catch (const amct::Error&) {
        continue;
      }
    }
  } catch (const amct::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::ofstream(prefix() + ".index", std::ios::binary) << bytes;
  read_checkpoint();
  read_entries(bytes);
  read_checkpoint();
  return 0;
}
