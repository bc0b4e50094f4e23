#pragma once

#include <span>
#include <string>
#include <string_view>

namespace amct::decompose {

/// Whether a name equals a pattern in which '*' stands for any characters and '?' for one.
bool matches(std::string_view pattern, std::string_view name);

bool matches_any(std::span<const std::string> patterns, std::string_view name);

}  // namespace amct::decompose
