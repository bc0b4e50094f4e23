#include "cli/console.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "amct/base/log.h"

namespace amct::cli {
namespace {

constexpr const char* kLogFile = "amct_log/amct_onnx.log";

bool logging = false;
bool show_debug = false;
std::vector<std::string> warnings;

std::optional<spdlog::level::level_enum> parse_level(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (name == "DEBUG") return spdlog::level::debug;
  if (name == "INFO") return spdlog::level::info;
  if (name == "WARNING") return spdlog::level::warn;
  if (name == "ERROR") return spdlog::level::err;
  return std::nullopt;
}

/// The level that a variable names; INFO, and a line in `complaints`, when it is no level.
spdlog::level::level_enum level_of(const char* variable, const std::string& preferred,
                                   std::vector<std::string>& complaints) {
  const char* text = preferred.empty() ? std::getenv(variable) : preferred.c_str();
  if (text == nullptr || *text == '\0') return spdlog::level::info;
  if (const auto level = parse_level(text)) return *level;
  complaints.push_back(fmt::format(
      "{} is '{}', expected DEBUG, INFO, WARNING or ERROR; INFO is used", variable, text));
  return spdlog::level::info;
}

struct LevelName {
  spdlog::level::level_enum level;
  const char* name;
};

LevelName name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return {spdlog::level::debug, "DEBUG"};
    case LogLevel::kInfo:
      return {spdlog::level::info, "INFO"};
    case LogLevel::kWarning:
      return {spdlog::level::warn, "WARNING"};
    case LogLevel::kError:
      return {spdlog::level::err, "ERROR"};
  }
  return {spdlog::level::info, "INFO"};
}

}  // namespace

void start_logging(const std::string& screen_level) {
  std::vector<std::string> complaints;
  auto screen =
      std::make_shared<spdlog::logger>("screen", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  screen->set_level(level_of("AMCT_LOG_LEVEL", screen_level, complaints));
  screen->set_pattern("%v");
  show_debug = screen->level() == spdlog::level::debug;
  auto file = std::make_shared<spdlog::logger>("file");
  try {
    file->sinks().push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(kLogFile, true));
    file->set_level(level_of("AMCT_LOG_FILE_LEVEL", "", complaints));
    file->set_pattern("%Y-%m-%d %H:%M:%S,%e - %v");
    file->flush_on(spdlog::level::warn);
  } catch (const spdlog::spdlog_ex&) {
    complaints.push_back(fmt::format("the log file '{}' cannot be written", kLogFile));
  }
  set_log_sink([screen, file](LogLevel level, std::string_view line) {
    const auto [severity, name] = name_of(level);
    if (level == LogLevel::kWarning) warnings.emplace_back(line);
    file->log(severity, "{} - [AMCT]:[Utils]: {}", name, line);
    if (level == LogLevel::kError)
      screen->log(severity, "amct: error: {}", line);
    else
      screen->log(severity, "{} - [AMCT]:[Utils]: {}", name, line);
  });
  logging = true;
  for (const std::string& complaint : complaints) log_warning("{}", complaint);
}

void show_error(const std::string& message) {
  if (logging)
    log_error("{}", message);
  else
    fmt::print(stderr, "amct: error: {}\n", message);
}

bool debugging() { return show_debug; }

std::vector<std::string> logged_warnings() { return warnings; }

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace amct::cli
