#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
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

// The verbs of one format: subcommands of `amct NAME`, and of the command `amct_NAME`.
struct Format {
  const char* name;
  const char* what;
  void (*add_verbs)(CLI::App&, Action&);
};

constexpr std::array<Format, 3> kFormats{{
    {"onnx", "ONNX models (also: the command amct_onnx)",
     [](CLI::App& app, Action& action) {
       add_calibration(app, action);
       add_convert(app, action);
       add_decompose(app, action, ".onnx");
     }},
    {"caffe", "Caffe models (also: the command amct_caffe)",
     [](CLI::App& app, Action& action) { add_decompose(app, action, ".prototxt"); }},
    {"tensorflow", "TensorFlow models (also: the command amct_tensorflow)",
     [](CLI::App& app, Action& action) { add_decompose(app, action, ".meta"); }},
}};

void add_all(CLI::App& app, Action& action) {
  for (const Format& format : kFormats) {
    CLI::App* verbs = app.add_subcommand(format.name, format.what);
    verbs->require_subcommand(1);
    format.add_verbs(*verbs, action);
  }
  add_check(app, action);
  add_run(app, action);
  add_diff(app, action);
  add_decompose(app, action);
}

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string called_as = std::filesystem::path(argv[0]).filename().string();
  const auto* format = std::ranges::find_if(
      kFormats, [&](const Format& f) { return called_as == std::string("amct_") + f.name; });

  CLI::App app("AMCT: compress trained networks for integer hardware", called_as);
  app.set_version_flag("--version", std::string("amct ") + AMCT_VERSION);
  app.require_subcommand(1);
  Action action;
  if (format != kFormats.end()) {
    format->add_verbs(app, action);
  } else {
    add_all(app, action);
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
