#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "amct/base/error.h"
#include "amct/base/log.h"

namespace amct::config {

/// Runs the action and returns the message of the Error(kInvalidConfig) it throws; "" if none.
inline std::string message_of(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidConfig) << error.what();
    return error.what();
  }
  return "";
}

/// Runs the action and returns the lines that it logs as warnings.
inline std::vector<std::string> warnings_of(const auto& action) {
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel level, std::string_view line) {
    if (level == LogLevel::kWarning) lines.emplace_back(line);
  });
  action();
  set_log_sink({});
  return lines;
}

}  // namespace amct::config
