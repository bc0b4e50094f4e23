#pragma once

#include <string>
#include <vector>

#include "amct/base/log.h"

namespace amct::test {

/// Collects the warnings that are logged while it lives.
struct Warnings {
  std::vector<std::string> lines;

  Warnings() {
    set_log_sink([this](LogLevel level, std::string_view line) {
      if (level == LogLevel::kWarning) lines.emplace_back(line);
    });
  }
  ~Warnings() { set_log_sink({}); }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
};

}  // namespace amct::test
