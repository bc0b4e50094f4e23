#include "amct/workflow/result_files.h"

#include <fmt/chrono.h>

#include <chrono>
#include <random>

#include "amct/base/error.h"
#include "amct/base/log.h"

namespace amct::workflow {

std::uint64_t ResultFiles::add_model(const ir::Model& model, const std::string& suffix) {
  std::uint64_t bytes = 0;
  for (AtomicFile& file : onnx::stage(model, path(suffix))) {
    bytes += file.size();
    files_.push_back(std::move(file));
  }
  return bytes;
}

void ResultFiles::add_files(std::vector<AtomicFile> files) {
  for (AtomicFile& file : files) files_.push_back(std::move(file));
}

void ResultFiles::add_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  files_.push_back(std::move(file));
}

std::vector<std::string> ResultFiles::commit() {
  std::vector<std::string> paths;
  for (AtomicFile& file : files_) file.sync();
  for (AtomicFile& file : files_) {
    if (std::filesystem::exists(file.path()))
      log_warning("'{}' exists and is replaced", file.path().string());
    file.commit();
    paths.push_back(file.path().string());
  }
  return paths;
}

void check_writable(const std::string& save_path) {
  if (std::filesystem::path(save_path).filename().empty())
    raise(ErrorCode::kUsage,
          "save_path '{}' ends in a folder; add the prefix of the result files, e.g. '{}model'",
          save_path, save_path);
  const AtomicFile probe(save_path + "_deploy_model.onnx");
}

void refuse_to_overwrite(const std::filesystem::path& input, const std::filesystem::path& output) {
  std::error_code missing;
  if (std::filesystem::equivalent(input, output, missing))
    raise(ErrorCode::kUsage,
          "'{}' is the input model and would be overwritten; choose another "
          "name for the result",
          output.string());
}

std::filesystem::path make_temporary_folder(const std::string& save_path) {
  std::random_device random;
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::filesystem::path folder =
      std::filesystem::path(save_path).parent_path() /
      fmt::format("{:08x}_{:%Y%m%d%H%M%S}", random(), fmt::gmtime(now));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    raise(ErrorCode::kIo, "cannot create folder '{}': {}", folder.string(), error.message());
  return folder;
}

}  // namespace amct::workflow
