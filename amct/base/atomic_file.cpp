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

AtomicFile::AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code error;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  if (error)
    raise(ErrorCode::kIo, "cannot create folder '{}': {}", path_.parent_path().string(),
          error.message());
  std::string name = path_.string() + ".XXXXXX";
  descriptor_ = ::mkstemp(name.data());
  if (descriptor_ < 0) raise_errno("write", path_);
  temporary_ = name;
  if (::fchmod(descriptor_, 0640) != 0) raise_errno("set the mode of", temporary_);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
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

void AtomicFile::commit() {
  if (descriptor_ < 0) return;
  if (::fsync(descriptor_) != 0) raise_errno("write", path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) raise_errno("write", path_);
  ::close(descriptor_);
  descriptor_ = -1;
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
