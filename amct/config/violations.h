#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amct/config/option_table.h"

namespace amct::config {

/// Longest config or record text that is read; far above any real file.
inline constexpr std::size_t kMaxTextBytes = std::size_t{16} << 20U;

/// Collects everything that is wrong with one file, so that the user sees all of it at once.
class Violations {
 public:
  explicit Violations(std::string subject) : subject_(std::move(subject)) {}

  /// Adds one line, "where: what".
  template <typename... Args>
  void add(std::string_view where, fmt::format_string<Args...> format, Args&&... args) {
    if (++count_ <= kMaxListed) {
      add_line(fmt::format("{}: {}", where, fmt::format(format, std::forward<Args>(args)...)));
    }
  }

  /// Adds a line if the number is out of the option's range; returns whether it is in range.
  bool check(std::string_view where, Option option, double value);

  [[nodiscard]] bool empty() const { return count_ == 0; }

  /// Throws Error(kInvalidConfig) with all lines if there are any.
  void throw_if_any() const;

 private:
  static constexpr std::size_t kMaxListed = 100;
  void add_line(std::string line);

  std::string subject_;
  std::vector<std::string> lines_;
  std::size_t count_ = 0;
};

/// Throws Error(kInvalidConfig) if the text is too long, holds a zero byte or is not UTF-8.
void check_text(std::string_view text, const std::string& file_name);

/// Returns the offset of the first byte that is not valid UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

/// Position of a byte in a text as "line:column", both from 1, columns in bytes.
std::string line_and_column(std::string_view text, std::size_t offset);

}  // namespace amct::config
