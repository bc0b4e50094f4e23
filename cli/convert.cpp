#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "amct/workflow/convert_qat.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/show_report.h"

namespace amct::cli {
namespace {

constexpr const char* kAbout =
    R"(What is converted: pairs with equal factors in front of the data and the weight of Conv, ConvTranspose, Gemm
and MatMul, in front of AveragePool, in front of inputs of Add and MaxPool, and a QuantizeLinear that computes an
output of the model. Everything else stays in float and is listed with the reason.

Example:
  amct_onnx convert --model=net_qat.onnx --save_path=out/net)";

struct Options {
  workflow::ConvertOptions workflow;
  std::string log_level;
  bool quiet = false;
};

void convert(const Options& options) {
  start_logging(options.log_level);
  const report::RunReport report = workflow::convert_qat_model(options.workflow);
  show_report(report, options.quiet);
}

}  // namespace

void add_convert(CLI::App& parent, Action& action) {
  auto options = std::make_shared<Options>();
  workflow::ConvertOptions& to = options->workflow;
  CLI::App* app = parent.add_subcommand(
      "convert", "Turn a quantized model (QuantizeLinear/DequantizeLinear) into one for the NPU");
  app->footer(kAbout);
  app->add_option("--model", to.model, "Quantized model (.onnx)")->required();
  app->add_option("--save_path,--save-path", to.save_path,
                  "Folder and file name prefix of the results")
      ->required();
  app->add_option("--record_file,--record-file", to.record_file,
                  "File for the factors of all quantized layers");
  app->add_flag("--dry-run", to.dry_run, "Show what would be converted and why not; write nothing");
  app->add_option("--log-level", options->log_level,
                  "DEBUG, INFO, WARNING or ERROR (default: AMCT_LOG_LEVEL)");
  app->add_flag("--quiet", options->quiet, "No table");
  app->final_callback([options, &action] { action = [options] { convert(*options); }; });
}

}  // namespace amct::cli
