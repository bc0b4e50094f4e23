#include "amct/workflow/run_usage.h"

#include <fstream>
#include <string>

namespace amct::workflow {
namespace {

/// The kernel's mark of this program's own memory; getrusage would count what the parent process
/// had in memory when it started this one.
std::uint64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    std::uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

RunUsage UsageMeter::read() const {
  RunUsage usage;
  usage.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  usage.peak_bytes = peak_resident_bytes();
  return usage;
}

}  // namespace amct::workflow
