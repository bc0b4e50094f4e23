#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace amct::cli {

/// One line on a terminal's stderr that shows how far a long job is and the time left; without a
/// terminal nothing is shown. The line disappears with finish() or the destructor.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const std::string& stage, std::size_t done, std::size_t total);
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool shown_;
  std::string stage_;
  Clock::time_point start_;
  Clock::time_point drawn_;
};

}  // namespace amct::cli
