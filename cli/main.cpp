#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "amct/base/error.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/usage.h"

namespace amct::cli {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int report_error(int code, const std::string& message) {
  show_error(message);
  return code;
}

int run_action(const Action& action) {
  try {
    action();
    return kDone;
  } catch (const Error& error) {
    return report_error(error.code() == ErrorCode::kUsage ? kBadUsage : kFailed, error.what());
  } catch (const std::bad_alloc&) {
    return report_error(kFailed,
                        "out of memory; use fewer or smaller batches, or HFMG calibration");
  } catch (const std::exception& error) {
    return report_error(kFailed, error.what());
  }
}

CLI::App* add_format(CLI::App& app, const char* name, const char* what) {
  CLI::App* format = app.add_subcommand(name, what);
  format->require_subcommand(1);
  return format;
}

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string called_as = std::filesystem::path(argv[0]).filename().string();
  const bool as_onnx = called_as == "amct_onnx";

  CLI::App app("AMCT: compress trained networks for integer hardware", called_as);
  app.set_version_flag("--version", std::string("amct ") + AMCT_VERSION);
  app.require_subcommand(1);
  Action action;
  if (as_onnx) {
    add_calibration(app, action);
  } else {
    CLI::App* onnx = add_format(app, "onnx", "ONNX models (also: the command amct_onnx)");
    add_calibration(*onnx, action);
    add_decompose(*onnx, action, ".onnx");
    add_check(app, action);
    add_run(app, action);
    add_diff(app, action);
    add_decompose(app, action);
    add_decompose(*add_format(app, "caffe", "Caffe models"), action, ".prototxt");
    add_decompose(*add_format(app, "tensorflow", "TensorFlow models"), action, ".meta");
  }
  use_documented_help(app);
  try {
    check_empty_values(arguments);
    std::ranges::reverse(arguments);
    app.parse(arguments);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report_error(kBadUsage,
                        explain(error, app, std::vector<std::string>(argv + 1, argv + argc)));
  } catch (const Error& error) {
    return report_error(kBadUsage, error.what());
  }
  return run_action(action);
}

}  // namespace
}  // namespace amct::cli

int main(int argc, char** argv) { return amct::cli::main(argc, argv); }
