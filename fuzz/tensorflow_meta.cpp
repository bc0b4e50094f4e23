// .meta files: hostile bytes give an Error; what is accepted is written so that it reads back the
// same, and its convolutions can be split.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "amct/base/error.h"
#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/meta_graph.h"

namespace {

using amct::tensorflow::CheckpointReader;
using amct::tensorflow::MetaGraph;

constexpr std::int32_t kFloat = 1;

/// A checkpoint with the kernels of the corpus.
const CheckpointReader& checkpoint() {
  static const CheckpointReader reader = [] {
    std::string folder = (std::filesystem::temp_directory_path() / "fuzz_meta_XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) std::abort();
    amct::tensorflow::CheckpointWriter writer(folder + "/kernels");
    const std::array<std::int64_t, 4> a{3, 3, 4, 6};
    const std::array<std::int64_t, 4> b{3, 3, 6, 4};
    const std::string bytes(864, '\0');
    writer.add("a/kernel", kFloat, a, bytes);
    writer.add("a/kernel/Momentum", kFloat, a, bytes);
    writer.add("b/kernel", kFloat, b, bytes);
    for (amct::AtomicFile& file : writer.finish()) file.commit();
    CheckpointReader opened(folder + "/kernels");
    std::filesystem::remove_all(folder);  // the mappings stay
    return opened;
  }();
  return reader;
}

void split_all(MetaGraph& meta) {
  std::set<std::string> kernels;
  std::set<std::string> refused;
  for (const auto& conv : meta.convolutions(checkpoint()))
    (conv.refusal.empty() ? kernels : refused).insert(conv.kernel);
  std::vector<amct::tensorflow::KernelSplit> splits;
  for (const std::string& kernel : kernels)
    if (!refused.contains(kernel)) splits.push_back({kernel, 2, splits.empty()});
  for (const auto& split : splits) {
    try {
      meta.read_kernel(checkpoint(), split.kernel);
    } catch (const amct::Error&) {
      return;
    }
  }
  meta.split(splits, checkpoint());
  MetaGraph::parse(meta.serialize(), "split");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    MetaGraph meta = MetaGraph::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
    const std::string bytes = meta.serialize();
    if (MetaGraph::parse(bytes, "written").serialize() != bytes) std::abort();
    try {
      meta.check_belongs_to(checkpoint());
    } catch (const amct::Error&) {
      // Other variables than the checkpoint's: splitting goes by those that are there.
    }
    split_all(meta);
  } catch (const amct::Error&) {
    return 0;
  }
  return 0;
}
