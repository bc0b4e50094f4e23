// Caffe weights files: hostile bytes give an Error; what is accepted is written back byte for byte,
// and with its first layer split it is sound again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "amct/base/error.h"
#include "amct/formats/caffe/weights_file.h"

namespace {

using amct::caffe::Values;
using amct::caffe::WeightsFile;

std::string written(const WeightsFile& file,
                    const std::map<std::size_t, amct::caffe::WeightsSplit>& splits) {
  std::string bytes;
  file.split(splits, [&bytes](std::string_view piece) { bytes += piece; });
  return bytes;
}

Values some(const Values& like, std::size_t count) {
  return std::visit(
      [count](const auto& values) -> Values { return std::decay_t<decltype(values)>(count, 1); },
      like);
}

void check_split(const WeightsFile& file, std::size_t layer) {
  const auto blobs = file.blobs(layer);
  if (blobs.empty()) return;
  const Values values = file.read_blob(layer, 0);
  amct::caffe::WeightsSplit split;
  split.layers.first = {"first", 1, {3, 1, 1, 1, 0, 0}, "p"};
  split.layers.last = {"last", 2, {1, 3, 1, 1, 0, 0}, "q"};
  split.layers.middle = {"middle"};
  split.first_dims = {1, 2, 3, 1};
  split.last_dims = {2, 1, 1, 3};
  split.first = std::make_shared<const Values>(some(values, 6));
  split.last = std::make_shared<const Values>(some(values, 6));
  const std::string bytes = written(file, {{layer, split}});
  const WeightsFile again = WeightsFile::parse(bytes, "split");
  if (again.layer_count() != file.layer_count() + 1 || again.layer_name(layer) != "first" ||
      again.blobs(layer).size() != 1 || again.blobs(layer + 1).size() != blobs.size() ||
      again.blobs(layer)[0].type != blobs[0].type)
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::optional<WeightsFile> file;
  try {
    file = WeightsFile::parse(bytes, "fuzz");
  } catch (const amct::Error&) {
    return 0;
  }
  if (written(*file, {}) != bytes) std::abort();
  for (std::size_t layer = 0; layer < file->layer_count(); ++layer) {
    try {
      check_split(*file, layer);
    } catch (const amct::Error&) {
      continue;
    }
  }
  return 0;
}
