#pragma once

#include <string>

namespace amct {

/// 32 random hexadecimal digits.
std::string unique_id();

}  // namespace amct
