#pragma once

#include <gtest/gtest.h>

#include <string>

#include "amct/base/error.h"

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

}  // namespace amct::config
