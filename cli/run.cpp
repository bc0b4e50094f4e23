#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "amct/workflow/run_model.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/data_options.h"
#include "cli/progress.h"

namespace amct::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  amct run m.onnx --data=calib --output=out/y
  amct run out/m_deploy_model.onnx --data="set/a;set/b" --batch_num=2 --output=out/y

A deploy model is lowered to integer ONNX operators and run with int32 accumulation. Outputs are
written to <output>/<output name>/<batch>.npy.)";

struct Options {
  std::string model;
  std::string output;
  DataSettings settings;
};

void run(const Options& options) {
  start_logging(options.settings.log_level);
  const ir::Model model = workflow::load_runnable(options.model);
  const auto data =
      workflow::open_model_data(options.settings.data, model, options.settings.batch_num);
  workflow::RunOptions running;
  running.executor = options.settings.executor;
  running.output_folder = options.output;
  workflow::RunResult result;
  {
    ProgressBar bar;
    running.progress = [&](std::size_t done, std::size_t total, double) {
      if (!options.settings.quiet) bar.update("run", done, total);
    };
    result = workflow::run_model(model, *data, options.settings.batch_num, running);
  }
  fmt::print("{} batch(es) in {:.3f} s\n", result.batches, result.usage.seconds);
  for (const runtime::PortInfo& port : result.outputs) fmt::print("output '{}'\n", port.name);
  if (!options.output.empty())
    fmt::print("{} file(s) written to {}\n", result.files.size(), options.output);
}

}  // namespace

void add_run(CLI::App& parent, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Run a float, fake_quant or deploy model on data");
  app->footer(kExamples);
  app->add_option("model", options->model, "Model (.onnx)")->required();
  app->add_option("--output", options->output, "Folder for the outputs (default: not written)");
  add_data_options(*app, options->settings);
  app->final_callback([options, &action] { action = [options] { run(*options); }; });
}

}  // namespace amct::cli
