#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "amct/base/atomic_file.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/ir/graph.h"

namespace amct::workflow {

/// The result files of one run: they are written beside their final places as they are added, and
/// all of them become visible in commit(), in the order in which they were added.
class ResultFiles {
 public:
  /// "<save_path><suffix>"; throws Error(kIo) when the folder cannot be made or written.
  explicit ResultFiles(std::string save_path) : save_path_(std::move(save_path)) {}

  std::filesystem::path path(const std::string& suffix) const { return save_path_ + suffix; }
  /// Bytes written, external data included.
  std::uint64_t add_model(const ir::Model& model, const std::string& suffix);
  /// Files that a format has written and not yet committed.
  void add_files(std::vector<AtomicFile> files);
  void add_text(const std::filesystem::path& path, const std::string& text);
  /// Returns the paths. Warns for each file that is replaced.
  std::vector<std::string> commit();

 private:
  std::string save_path_;
  std::vector<AtomicFile> files_;
};

/// Throws Error(kUsage | kIo) unless files can be created under `save_path`; leaves nothing behind.
void check_writable(const std::string& save_path);

/// Throws Error(kUsage) when `output` is the file `input`.
void refuse_to_overwrite(const std::filesystem::path& input, const std::filesystem::path& output);

/// The folder "<random>_<timestamp>" of intermediate results, beside the results.
std::filesystem::path make_temporary_folder(const std::string& save_path);

}  // namespace amct::workflow
