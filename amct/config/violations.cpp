#include "amct/config/violations.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "amct/base/error.h"

namespace amct::config {
namespace {

// Length of the valid UTF-8 sequence at the start of the text, or 0.
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  // Overlong forms, surrogates and values above U+10FFFF.
  const std::uint8_t second = byte(1);
  const bool wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                     (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return wrong ? 0 : length;
}

}  // namespace

bool Violations::check(std::string_view where, Option option, double value) {
  const auto violation = range_violation(option, value);
  if (violation) add(where, "{}", *violation);
  return !violation;
}

void Violations::add_line(std::string line) {
  // A hostile name, or a long list of missing fields, should not fill the screen.
  constexpr std::size_t kMaxBytes = 2000;
  if (line.size() > kMaxBytes) {
    std::size_t end = kMaxBytes;
    while (end > 0 && (static_cast<std::uint8_t>(line[end]) & 0xC0U) == 0x80) --end;
    line = line.substr(0, end) + " ...";
  }
  lines_.push_back(std::move(line));
}

void Violations::throw_if_any() const {
  if (count_ == 0) return;
  std::string message = fmt::format("{} has {} error{}:", subject_, count_, count_ == 1 ? "" : "s");
  for (const std::string& line : lines_) message += "\n  " + line;
  if (count_ > lines_.size()) message += fmt::format("\n  and {} more", count_ - lines_.size());
  throw Error(ErrorCode::kInvalidConfig, message);
}

void check_text(std::string_view text, const std::string& file_name) {
  if (text.size() > kMaxTextBytes) {
    raise(ErrorCode::kInvalidConfig, "{}: the file has {} bytes, at most {} (16 MiB) are read",
          file_name, text.size(), kMaxTextBytes);
  }
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    raise(ErrorCode::kInvalidConfig, "{}:{}: found a zero byte, expected text", file_name,
          line_and_column(text, zero));
  }
  const std::size_t invalid = find_invalid_utf8(text);
  if (invalid != std::string_view::npos) {
    raise(ErrorCode::kInvalidConfig,
          "{}:{}: byte 0x{:02X} is not valid UTF-8; save the file as UTF-8", file_name,
          line_and_column(text, invalid), static_cast<std::uint8_t>(text[invalid]));
  }
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = utf8_sequence(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("{}:{}", line, column);
}

}  // namespace amct::config
