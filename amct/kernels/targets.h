#pragma once

#include <string>
#include <vector>

namespace amct::kernels {

/// Names of the SIMD instruction sets that this build has and this machine can run, best first.
std::vector<std::string> available_targets();

/// The instruction set that the kernels use now.
std::string current_target();

/// Makes every kernel use one instruction set (for tests and benchmarks; "" returns to the best).
/// Not to be called while kernels run. Throws Error (kUsage) on a name not in available_targets().
void force_target(const std::string& name);

}  // namespace amct::kernels
