#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "amct/kernels/targets.h"

namespace amct::test {

/// Runs the body with the kernels forced to each instruction set of this machine in turn.
inline void on_each_target(const std::function<void()>& body) {
  for (const std::string& name : kernels::available_targets()) {
    SCOPED_TRACE(name);
    kernels::force_target(name);
    body();
  }
  kernels::force_target("");
}

inline std::vector<float> normal_values(std::size_t n, unsigned seed = 1, float spread = 1.0F) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0F, spread);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}

/// Sizes around every vector length and block size in use.
inline const std::vector<std::size_t> kSizes = {
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100, 511, 512, 513, 1025, 3000};

}  // namespace amct::test
