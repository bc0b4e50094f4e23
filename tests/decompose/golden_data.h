#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace amct::test {

/// Array of a .npy file of tests/golden, as double (float16, float32 and float64 files).
std::vector<double> load_npy(const std::string& path);

/// The cases of tests/golden/<family>.json.
nlohmann::json load_cases(const std::string& family);

}  // namespace amct::test
