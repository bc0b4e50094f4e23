#include "amct/kernels/targets.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <fmt/ranges.h>

#include "amct/base/error.h"

namespace amct::kernels {

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

std::string current_target() { return available_targets().front(); }

void force_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  if (!name.empty()) {
    std::int64_t wanted = 0;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      if (name == hwy::TargetName(target)) wanted = target;
    }
    if (wanted == 0) {
      raise(ErrorCode::kUsage, "SIMD target '{}' is not available here; use one of {}", name,
            fmt::join(available_targets(), ", "));
    }
    hwy::SetSupportedTargetsForTest(wanted);
  }
  hwy::GetChosenTarget().DeInit();
}

}  // namespace amct::kernels
