#include "amct/base/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "amct/base/error.h"

namespace amct {
namespace {

[[noreturn]] void raise_errno(const char* action, const std::filesystem::path& path) {
  raise(ErrorCode::kIo, "cannot {} '{}': {}", action, path.string(), std::strerror(errno));
}

}  // namespace

AtomicFile::Folders::Folders(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  for (std::filesystem::path missing = folder;
       !missing.empty() && !std::filesystem::exists(missing, error);
       missing = missing.parent_path())
    created_.push_back(missing);
  std::filesystem::create_directories(folder, error);
  if (error)
    raise(ErrorCode::kIo, "cannot create folder '{}': {}", folder.string(), error.message());
}

AtomicFile::Folders::~Folders() {
  for (const std::filesystem::path& folder : created_)
    if (::rmdir(folder.c_str()) != 0) return;
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), folders_(path_.parent_path()) {
  if (std::filesystem::is_directory(path_))
    raise(ErrorCode::kIo, "cannot write '{}': it is a folder", path_.string());
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0640);
  if (descriptor_ < 0) open_named();
  if (::fchmod(descriptor_, 0640) != 0) raise_errno("set the mode of", path_);
}

/// For file systems without files that have no name.
void AtomicFile::open_named() {
  std::string name = path_.string() + ".XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) raise_errno("write", path_);
  temporary_ = name;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      folders_(std::move(other.folders_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      raise_errno("write", path_);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
}

void AtomicFile::sync() {
  if (descriptor_ >= 0 && ::fsync(descriptor_) != 0) raise_errno("write", path_);
}

void AtomicFile::commit() {
  if (descriptor_ < 0) return;
  sync();
  if (temporary_.empty()) give_name();
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) raise_errno("write", path_);
  ::close(descriptor_);
  descriptor_ = -1;
}

void AtomicFile::give_name() {
  // Another file of this folder may have taken it away again.
  const Folders folders(path_.parent_path());
  const std::string source = fmt::format("/proc/self/fd/{}", descriptor_);
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}.{}.{}", path_.string(), ::getpid(), attempt);
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) raise_errno("write", path_);
  }
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) raise_errno("read", path);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) raise_errno("read", path);
  if (!S_ISREG(status.st_mode))
    raise(ErrorCode::kIo, "cannot read '{}': it is not a regular file", path.string());
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_bytes)
    raise(ErrorCode::kIo, "cannot read '{}': it has {} bytes, at most {} are accepted",
          path.string(), size, max_bytes);
  std::string content(size, '\0');
  std::size_t offset = 0;
  while (offset < content.size()) {
    const ssize_t count = ::read(descriptor, content.data() + offset, content.size() - offset);
    if (count < 0) {
      if (errno == EINTR) continue;
      raise_errno("read", path);
    }
    if (count == 0) break;
    offset += static_cast<std::size_t>(count);
  }
  content.resize(offset);
  return content;
}

}  // namespace amct
