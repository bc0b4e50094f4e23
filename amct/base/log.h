#pragma once

#include <fmt/core.h>

#include <functional>
#include <string_view>
#include <utility>

namespace amct {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Receives every log line of the library; called from any thread, one call at a time.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// Replaces the one sink of the process (default: lines are dropped). An empty sink drops lines.
void set_log_sink(LogSink sink);

/// Hands one line, without a line feed, to the sink.
void log_line(LogLevel level, std::string_view line);

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace amct
