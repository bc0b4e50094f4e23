#include "amct/decompose/pattern.h"

#include <algorithm>

namespace amct::decompose {

bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;  // the last one met, and where its text ends so far
  std::size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  return std::ranges::all_of(pattern.substr(p), [](char c) { return c == '*'; });
}

bool matches_any(std::span<const std::string> patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const std::string& p) { return matches(p, name); });
}

}  // namespace amct::decompose
