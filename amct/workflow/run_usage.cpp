#include "amct/workflow/run_usage.h"

#include <sys/resource.h>

namespace amct::workflow {

RunUsage UsageMeter::read() const {
  RunUsage usage;
  usage.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  struct rusage resources{};
  if (::getrusage(RUSAGE_SELF, &resources) == 0)
    usage.peak_bytes = static_cast<std::uint64_t>(resources.ru_maxrss) * 1024;
  return usage;
}

}  // namespace amct::workflow
