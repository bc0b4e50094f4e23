#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/workflow/calibration.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "cli/show_report.h"
#include "cli/usage.h"

namespace amct::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  amct_onnx calibration --model=m.onnx --save_path=out/m --data_dir=calib --batch_num=8
  amct_onnx calibration --model=m.onnx --save_path=out/m --input_shape="a:8,3,32,32;b:8,10" \
      --data_dir="set/a;set/b" --data_types="float32;float32" --calibration_config=quant.cfg
  amct_onnx calibration --model=m.onnx --save_path=out/m --dry-run

Data: one folder per model input, in the order of the inputs; its .bin (raw little-endian values), .npy
or .npz files are the batches, in ascending order of their names.)";

struct Options {
  workflow::CalibrationOptions workflow;
  std::string evaluator;
  std::string log_level;
  std::string stats_json;
  bool skip_compare = false;
  bool quiet = false;
};

std::string stats_text(const report::RunReport& report) {
  const report::StageSeconds& s = report.seconds;
  return fmt::format(
      "{{\"stage_seconds\": {{\"load\": {}, \"prepare\": {}, \"calibrate\": {}, \"quantize\": {}, "
      "\"compare\": {}, \"save\": {}}}, \"peak_memory_bytes\": {}, \"batches\": {}}}\n",
      s.load, s.prepare, s.calibrate, s.quantize, s.compare, s.save, report.peak_memory_bytes,
      report.calibration_batches);
}

void check(const Options& options) {
  if (!options.evaluator.empty())
    raise(ErrorCode::kUsage,
          "--evaluator runs a Python class and needs the Python package amct_onnx, which this "
          "version "
          "does not have; give the data with --data_dir instead");
  if (!options.workflow.dry_run && options.workflow.data_dir.empty())
    raise(ErrorCode::kUsage, "--data_dir is required (or --dry-run, which runs nothing)");
}

void calibrate(Options& options) {
  start_logging(options.log_level);
  check(options);
  options.workflow.compare = !options.skip_compare;
  options.workflow.keep_temporary = debugging();
  options.workflow.warnings = logged_warnings;
  options.workflow.command_line = command_line();
  report::RunReport report;
  {
    ProgressBar bar;
    report = workflow::calibrate_model(
        options.workflow, [&](const std::string& stage, std::size_t done, std::size_t total) {
          if (!options.quiet) bar.update(stage, done, total);
        });
  }
  if (!options.stats_json.empty()) write_file(options.stats_json, stats_text(report));
  show_report(report, options.quiet);
}

}  // namespace

void add_calibration(CLI::App& parent, Action& action) {
  auto options = std::make_shared<Options>();
  workflow::CalibrationOptions& to = options->workflow;
  CLI::App* app = parent.add_subcommand("calibration",
                                        "Quantize a float model to INT8 (post-training, uniform)");
  app->footer(kExamples);
  app->add_option("--model", to.model, "Float model (.onnx)")->required();
  app->add_option("--save_path,--save-path", to.save_path,
                  "Folder and file name prefix of the results")
      ->required();
  CLI::Option* shape = app->add_option("--input_shape,--input-shape", to.input_shape,
                                       "Shapes \"name:1,3,224,224;name2:...\"; ? as first number: "
                                       "from the file size. Default: the model's");
  CLI::Option* data =
      app->add_option("--data_dir,--data-dir", to.data_dir,
                      "Folder(s) with calibration data, one per input, separated by ';'");
  CLI::Option* types = app->add_option(
      "--data_types,--data-types", to.data_types,
      "Data types \"float32;int64\", one for all inputs or one each. Default: the model's");
  CLI::Option* evaluator = app->add_option(
      "--evaluator", options->evaluator,
      "Python file with an AutoCalibrationEvaluatorBase class; excludes the three data options");
  for (CLI::Option* excluded : {shape, data, types}) evaluator->excludes(excluded);
  CLI::Option* batches =
      app->add_option("--batch_num,--batch-num", to.batch_num,
                      "Batches to calibrate with (default 1); excludes --calibration_config")
          ->check(whole_number(1, std::numeric_limits<std::uint32_t>::max()));
  app->add_option("--calibration_config,--calibration-config", to.calibration_config,
                  "Simple config file; excludes --batch_num")
      ->excludes(batches);
  app->add_flag("--dry-run", to.dry_run,
                "Show which layers would be quantized and why not; run nothing");
  app->add_option("--threads", to.threads, "Threads (default: all cores)")
      ->check(whole_number(0, std::numeric_limits<int>::max()));
  app->add_option("--report", to.report, "HTML report (default <save_path>_report.html)");
  app->add_flag("--no-compare", options->skip_compare,
                "Do not run the quantized model for the report's SQNR and cosine");
  app->add_option(
      "--onnxruntime", to.onnxruntime,
      "ONNX Runtime library or its folder (default: AMCT_ONNXRUNTIME, Python environment, system)");
  app->add_option("--custom_op_library,--custom-op-library", to.custom_op_libraries,
                  "Shared library with the model's own operators; may be given several times");
  app->add_option("--log-level", options->log_level,
                  "DEBUG, INFO, WARNING or ERROR (default: AMCT_LOG_LEVEL)");
  app->add_option("--stats-json", options->stats_json,
                  "File for seconds per stage and peak memory");
  app->add_flag("--quiet", options->quiet, "No progress bar and no table");
  app->final_callback([options, &action] { action = [options] { calibrate(*options); }; });
}

}  // namespace amct::cli
