// .npy and .npz files: hostile bytes give an Error, never a crash, a hang or much memory; an array
// that is read has as many bytes as its header says.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "amct/base/error.h"
#include "amct/runtime/npy.h"
#include "amct/runtime/zip_archive.h"

namespace {

void read_array(std::span<const std::byte> bytes) {
  try {
    const amct::ir::Tensor tensor = amct::runtime::parse_npy(bytes, "fuzz");
    if (tensor.bytes().size() > bytes.size()) std::abort();
  } catch (const amct::Error&) {
    return;
  }
}

void read_archive(const std::string& path) {
  try {
    const amct::runtime::ZipArchive archive(path);
    for (const amct::runtime::ZipEntry& entry : archive.entries()) {
      if (entry.bytes > (std::uint64_t{1} << 24)) continue;
      read_array(*archive.read(entry, 128));
      read_array(*archive.read(entry));
    }
  } catch (const amct::Error&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_array(std::as_bytes(std::span(data, size)));
  static const int file = ::memfd_create("npz", MFD_CLOEXEC);
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return 0;
  read_archive("/proc/self/fd/" + std::to_string(file));
  return 0;
}
