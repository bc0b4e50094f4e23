#include "cli/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace amct::cli {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

std::string time_text(double seconds) {
  const auto whole = std::lround(seconds);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

ProgressBar::ProgressBar() : shown_(::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() { finish(); }

void ProgressBar::update(const std::string& stage, std::size_t done, std::size_t total) {
  if (!shown_ || total == 0) return;
  const auto now = Clock::now();
  if (stage != stage_) {
    stage_ = stage;
    start_ = now;
  } else if (now - drawn_ < kRedrawInterval && done < total) {
    return;
  }
  drawn_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::string left =
      done > 0 && elapsed > 0
          ? time_text(elapsed / static_cast<double>(done) * static_cast<double>(total - done)) +
                " left"
          : "";
  const std::size_t filled = kBarWidth * done / total;
  fmt::print(stderr, "\r\033[K{} [{}{}] {}/{} batches {}", stage, std::string(filled, '#'),
             std::string(kBarWidth - filled, '.'), done, total, left);
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (!shown_ || stage_.empty()) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  stage_.clear();
}

}  // namespace amct::cli
