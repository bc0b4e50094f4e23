#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace amct::test {

/// Array of a .npy file of tests/golden, as float (float16, float32, int8 and int32 files).
std::vector<float> load_npy(const std::string& path);

/// The cases of tests/golden/<family>.json.
nlohmann::json load_cases(const std::string& family);

}  // namespace amct::test
