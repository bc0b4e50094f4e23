#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

#include "amct/runtime/onnxruntime/library.h"

namespace amct::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> children(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with(prefix)) found.push_back(it->path());
  std::ranges::sort(found, std::greater<>());
  return found;
}

void add_package(const fs::path& packages, std::vector<fs::path>& result) {
  for (const fs::path& file : children(packages / "onnxruntime" / "capi", "libonnxruntime.so"))
    if (std::ranges::find(result, file) == result.end()) result.push_back(file);
}

void add_prefix(const fs::path& prefix, std::vector<fs::path>& result) {
  for (const char* lib : {"lib", "lib64", "local/lib"})
    for (const fs::path& python : children(prefix / lib, "python3"))
      for (const char* packages : {"site-packages", "dist-packages"})
        add_package(python / packages, result);
}

/// The prefix of `python3` on PATH as it is named, then of the file that it is a link to.
void add_python_on_path(std::vector<fs::path>& result) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    const fs::path python = fs::path(folder) / "python3";
    if (folder.empty() || !fs::exists(python, error)) continue;
    add_prefix(fs::path(folder).parent_path(), result);
    const fs::path real = fs::canonical(python, error);
    if (const char* home = std::getenv("HOME"); home != nullptr)
      add_prefix(fs::path(home) / ".local", result);
    if (!error) add_prefix(real.parent_path().parent_path(), result);
    return;
  }
}

/// The folder ".venv" in the working directory or the nearest one above that has it.
void add_project_environment(std::vector<fs::path>& result) {
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error; folder = folder.parent_path()) {
    if (fs::is_directory(folder / ".venv", error)) add_prefix(folder / ".venv", result);
    if (!folder.has_relative_path()) return;
  }
}

}  // namespace

std::vector<fs::path> python_libraries() {
  std::vector<fs::path> result;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const char* prefix = std::getenv(variable); prefix != nullptr && *prefix != '\0')
      add_prefix(prefix, result);
  add_project_environment(result);
  add_python_on_path(result);
  return result;
}

}  // namespace amct::runtime
