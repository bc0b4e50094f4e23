#pragma once

#include <chrono>
#include <cstdint>

namespace amct::workflow {

/// Time and memory of one run.
struct RunUsage {
  double seconds = 0.0;
  /// Largest resident size of the process up to the end of the run.
  std::uint64_t peak_bytes = 0;
};

/// Measures from its construction on.
class UsageMeter {
 public:
  RunUsage read() const;

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace amct::workflow
