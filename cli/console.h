#pragma once

#include <string>
#include <vector>

namespace amct::cli {

/// Sends the library's log lines to the screen (stderr; AMCT_LOG_LEVEL, default INFO) and to
/// amct_log/amct_onnx.log (AMCT_LOG_FILE_LEVEL, default INFO; overwritten by each run). Spec
/// section 4. `screen_level` overrides the environment when not empty.
void start_logging(const std::string& screen_level);
/// One line "amct: error: ..." on stderr, and in the log file once logging has started.
void show_error(const std::string& message);
/// Whether the screen shows DEBUG lines, which also keeps intermediate results.
bool debugging();
/// Warnings logged so far, in order.
std::vector<std::string> logged_warnings();
/// How this program was called, from the operating system.
std::string command_line();

}  // namespace amct::cli
