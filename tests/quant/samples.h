#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace amct::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Seeded values that look like activations; kind is one of sample_kinds().
inline std::vector<float> sample(const std::string& kind, std::size_t n, unsigned seed = 1) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  std::vector<float> x(n);
  for (float& v : x) {
    const float g = normal(rng);
    const float u = uniform(rng);
    if (kind == "normal") v = g;
    if (kind == "relu") v = std::max(g, 0.0F);
    if (kind == "relu6") v = std::clamp(4.0F * g + 2.0F, 0.0F, 6.0F);
    if (kind == "lognormal") v = std::exp(g);
    if (kind == "sigmoid") v = 1.0F / (1.0F + std::exp(-4.0F * g));
    if (kind == "silu") v = 3.0F * g / (1.0F + std::exp(-3.0F * g));
    if (kind == "outlier") v = g * (u < 1e-4F ? 30.0F : 1.0F);
    if (kind == "bimodal") v = (u < 0.5F ? -3.0F : 5.0F) + 0.1F * g;
    if (kind == "shifted") v = 1.0F + u;
    if (kind == "negative") v = -std::fabs(g) - 0.1F;
    if (kind == "grid") v = std::floor(u * 256.0F) / 255.0F;
  }
  return x;
}

inline const std::vector<std::string>& sample_kinds() {
  static const std::vector<std::string> kinds = {"normal",  "relu",     "relu6",   "lognormal",
                                                 "sigmoid", "silu",     "outlier", "bimodal",
                                                 "shifted", "negative", "grid"};
  return kinds;
}

}  // namespace amct::test
