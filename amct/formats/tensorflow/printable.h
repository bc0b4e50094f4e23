#pragma once

#include <string>
#include <string_view>

namespace amct::tensorflow {

/// A name from a file as part of a message: one line of bounded length.
inline std::string printable(std::string_view name) {
  constexpr std::size_t kMaxLength = 200;
  std::string text(name.substr(0, kMaxLength));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  if (name.size() > kMaxLength) text += "...";
  return text;
}

}  // namespace amct::tensorflow
