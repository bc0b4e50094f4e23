#include "amct/runtime/onnxruntime/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>

#include "amct/base/error.h"
#include "amct/base/log.h"

namespace amct::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kOldestApi = 16;
constexpr const char* kAdvice =
    "install it with \"pip install 'onnxruntime>=1.19'\" (older wheels lack the library file) in "
    "the active Python environment, or name the "
    "library file by the option for it or the variable AMCT_ONNXRUNTIME";

void ORT_API_CALL forward_log(void*, OrtLoggingLevel severity, const char* category, const char*,
                              const char* location, const char* message) {
  if (severity >= ORT_LOGGING_LEVEL_WARNING)
    log_debug("ONNX Runtime [{}] {}: {}", category, location, message);
}

/// Minor version of "1.<minor>.<patch>"; empty for anything else.
std::optional<std::uint32_t> minor_version(std::string_view version) {
  if (!version.starts_with("1.")) return std::nullopt;
  std::uint32_t minor = 0;
  const auto [end, error] =
      std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  if (error != std::errc() || end == version.data() + 2) return std::nullopt;
  return minor;
}

/// One library that was opened and is new enough, or why it is not.
struct Candidate {
  const OrtApi* api = nullptr;
  std::string version;
  fs::path path;
  std::string failure;
};

fs::path loaded_path(const OrtApiBase* (*function)(), const fs::path& fallback) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(function), &info) != 0 && info.dli_fname != nullptr)
    return info.dli_fname;
  return fallback;
}

Candidate open_library(const fs::path& path) {
  Candidate candidate;
  candidate.path = path;
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    candidate.failure = reason != nullptr ? reason : "it cannot be opened";
    return candidate;
  }
  using Entry = const OrtApiBase* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(handle, "OrtGetApiBase"));
  if (entry == nullptr) {
    candidate.failure = "it has no function OrtGetApiBase, so it is not ONNX Runtime";
    ::dlclose(handle);
    return candidate;
  }
  candidate.path = loaded_path(entry, path);
  candidate.version = entry()->GetVersionString();
  // A library asked for a version that it does not know prints a line, so it is not asked.
  const std::uint32_t newest = minor_version(candidate.version).value_or(kOldestApi);
  for (std::uint32_t api = std::min<std::uint32_t>(newest, ORT_API_VERSION);
       api >= kOldestApi && candidate.api == nullptr; --api)
    candidate.api = entry()->GetApi(api);
  if (candidate.api == nullptr)
    candidate.failure =
        fmt::format("its version is {}; 1.{} or newer is needed", candidate.version, kOldestApi);
  return candidate;
}

/// A file as it is; of a folder, the library in it (or in the capi folder of a Python package).
fs::path library_in(const fs::path& given, std::string_view origin) {
  std::error_code error;
  if (!fs::exists(given, error))
    raise(ErrorCode::kRuntime, "ONNX Runtime: '{}' ({}) does not exist", given.string(), origin);
  // dlopen looks for a bare file name in the library path, not in the working directory.
  if (!fs::is_directory(given, error))
    return fs::exists(given, error) ? fs::absolute(given) : given;
  for (const fs::path& folder :
       {given, given / "capi", given / "onnxruntime" / "capi", given / "lib"}) {
    std::vector<fs::path> found;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (it->path().filename().string().starts_with("libonnxruntime.so")) found.push_back(*it);
    if (!found.empty()) return *std::ranges::max_element(found);
  }
  raise(ErrorCode::kRuntime,
        "ONNX Runtime: the folder '{}' ({}) holds no libonnxruntime.so* (wheels have it "
        "from version 1.19 on)",
        given.string(), origin);
}

Candidate open_named(const fs::path& given, std::string_view origin) {
  Candidate candidate = open_library(library_in(given, origin));
  if (candidate.api == nullptr)
    raise(ErrorCode::kRuntime, "ONNX Runtime cannot be used from '{}' ({}): {}",
          candidate.path.string(), origin, candidate.failure);
  return candidate;
}

Candidate search() {
  if (const char* named = std::getenv("AMCT_ONNXRUNTIME"); named != nullptr && *named != '\0')
    return open_named(named, "from the variable AMCT_ONNXRUNTIME");
  std::vector<fs::path> paths = python_libraries();
  std::string rejected;
  for (const fs::path& path : paths) {
    Candidate candidate = open_library(path);
    if (candidate.api != nullptr) return candidate;
    log_debug("ONNX Runtime: skipped '{}': {}", path.string(), candidate.failure);
    rejected += fmt::format("; '{}' was found, but {}", path.string(), candidate.failure);
  }
  std::vector<std::string> names = {"libonnxruntime.so", "libonnxruntime.so.1"};
  for (std::uint32_t minor = ORT_API_VERSION; minor >= kOldestApi; --minor)
    names.push_back(fmt::format("libonnxruntime.so.1.{}", minor));
  for (const std::string& name : names) {
    Candidate candidate = open_library(name);
    if (candidate.api != nullptr) return candidate;
  }
  raise(ErrorCode::kRuntime,
        "no usable ONNX Runtime (1.{} or newer) in the active Python environment or the system's "
        "library path{}; {}",
        kOldestApi, rejected, kAdvice);
}

OrtLibrary initialize(const Candidate& candidate) {
  Ort::InitApi(candidate.api);
  OrtLibrary library{candidate.path, candidate.version, nullptr};
  // Never destroyed: sessions in static objects may outlive this file's own statics.
  library.env = new Ort::Env(ORT_LOGGING_LEVEL_WARNING, "amct", forward_log, nullptr);
  library.env->DisableTelemetryEvents();
  log_debug("ONNX Runtime {} from '{}'", library.version, library.path.string());
  return library;
}

}  // namespace

const OrtLibrary& ort_library(const fs::path& wanted) {
  static std::mutex mutex;
  static std::optional<OrtLibrary> loaded;
  std::lock_guard lock(mutex);
  if (!loaded) {
    loaded = initialize(wanted.empty() ? search() : open_named(wanted, "as the option says"));
    return *loaded;
  }
  if (!wanted.empty()) {
    const fs::path file = library_in(wanted, "as the option says");
    std::error_code error;
    if (!fs::equivalent(file, loaded->path, error))
      raise(ErrorCode::kRuntime,
            "ONNX Runtime {} from '{}' is already in use in this process; '{}' cannot be loaded "
            "beside it",
            loaded->version, loaded->path.string(), file.string());
  }
  return *loaded;
}

}  // namespace amct::runtime
