#pragma once

#include <cstddef>
#include <functional>

#include "amct/workflow/run_usage.h"

namespace amct::workflow {

/// Called on the calling thread after each batch; seconds_left is an estimate.
using BatchProgress = std::function<void(std::size_t done, std::size_t total, double seconds_left)>;

/// Tells `progress` (may be empty) that `done` of `total` batches are through since `meter` began.
inline void report_batch(const BatchProgress& progress, const UsageMeter& meter, std::size_t done,
                         std::size_t total) {
  if (!progress) return;
  const double per_batch = meter.read().seconds / static_cast<double>(done);
  progress(done, total, per_batch * static_cast<double>(total - done));
}

}  // namespace amct::workflow
