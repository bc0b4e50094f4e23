#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "amct/base/error.h"
#include "amct/workflow/check_model.h"
#include "cli/commands.h"

namespace amct::cli {

void add_check(CLI::App& parent, Action& action) {
  auto model = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand(
      "check", "Check a deploy model against the rules of the NPU's compiler");
  app->footer(
      "Exit code 0: no error was found (warnings may be); 1: the compiler would refuse it.\n"
      "Example: amct check out/m_deploy_model.onnx");
  app->add_option("model", *model, "Deploy model (.onnx)")->required();
  app->final_callback([model, &action] {
    action = [model] {
      const workflow::CheckSummary summary = workflow::check_model(*model);
      for (const std::string& finding : summary.findings) fmt::print("{}\n", finding);
      fmt::print("{}: {} error(s), {} warning(s)\n", *model, summary.errors, summary.warnings);
      if (summary.errors > 0)
        raise(ErrorCode::kInvalidModel, "'{}' breaks {} rule(s) of deploy models", *model,
              summary.errors);
    };
  });
}

}  // namespace amct::cli
