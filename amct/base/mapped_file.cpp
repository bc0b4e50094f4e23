#include "amct/base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "amct/base/error.h"

namespace amct {
namespace {

[[noreturn]] void raise_unreadable(const std::filesystem::path& path, const char* reason) {
  raise(ErrorCode::kIo, "cannot read '{}': {}", path.string(), reason);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) raise_unreadable(path, std::strerror(errno));
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) raise_unreadable(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) raise_unreadable(path, "it is a folder, expected a file");
  if (!S_ISREG(status.st_mode)) raise_unreadable(path, "it is not a regular file");
  file->size_ = static_cast<std::size_t>(status.st_size);
  if (file->size_ == 0) return file;
  void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) raise_unreadable(path, std::strerror(errno));
  file->data_ = static_cast<const std::byte*>(data);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace amct
