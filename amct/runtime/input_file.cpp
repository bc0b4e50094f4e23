#include "amct/runtime/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "amct/base/error.h"

namespace amct::runtime {

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0)
    raise(ErrorCode::kIo, "cannot read '{}': {}", path_.string(), std::strerror(errno));
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    raise(ErrorCode::kIo, "cannot read '{}': it is not a regular file", path_.string());
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      raise(ErrorCode::kIo, "cannot read '{}': {}", path_.string(), std::strerror(errno));
    if (count == 0) raise(ErrorCode::kIo, "'{}' ends at byte {}", path_.string(), offset);
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

std::shared_ptr<std::vector<std::byte>> InputFile::read(std::uint64_t offset,
                                                        std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    raise(ErrorCode::kIo, "'{}' has {} bytes; {} at offset {} were wanted", path_.string(), size_,
          count, offset);
  auto buffer = std::make_shared<std::vector<std::byte>>(count);
  read(offset, *buffer);
  return buffer;
}

}  // namespace amct::runtime
