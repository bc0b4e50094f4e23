#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/report/decompose_report.h"
#include "amct/workflow/decompose_caffe.h"
#include "amct/workflow/decompose_onnx.h"
#include "amct/workflow/decompose_tensorflow.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "cli/terminal_size.h"
#include "cli/usage.h"

namespace amct::cli {
namespace {

using decompose::LayerResult;
using decompose::RankRule;

constexpr const char* kExamples = R"(Examples:
  amct decompose m.onnx --save_path=out/m                       -> out/m_decomposed_model.onnx
  amct decompose net.meta --save_path=out/net                   -> out/net.meta, .index, .data-*, .pkl, checkpoint
  amct decompose net.prototxt net.caffemodel --save_path=out/net -> out/net_tensor_decomposition.prototxt, .caffemodel
  amct decompose m.onnx --dry-run --rule=macs --value=0.5

Rules: evbmf (default; the rank that the kernel's noise tells), rank (value: the rank), ratio (value: share
of the full rank), energy (value: share of the squared norm that is kept), macs and params (value: share of
all convolutions' multiplications or weights that is left, shared out over the layers by error).)";

const std::map<std::string, RankRule> kRules{
    {"evbmf", RankRule::kEvbmf},   {"rank", RankRule::kRank}, {"ratio", RankRule::kRatio},
    {"energy", RankRule::kEnergy}, {"macs", RankRule::kMacs}, {"params", RankRule::kParams}};

struct Options {
  std::string only;  // ending that the command takes; empty: all
  std::string model;
  std::string weights;
  std::string save_path;
  std::string report;
  std::string log_level;
  runtime::DataOptions data;
  std::size_t batch_num = 0;
  decompose::Options decompose;
  runtime::ExecutorOptions executor;
  bool dry_run = false;
  bool quiet = false;
};

std::vector<LayerResult> run_caffe(const Options& options, const decompose::Progress& progress) {
  if (options.weights.empty())
    raise(ErrorCode::kUsage, "'{}' is a Caffe model definition; give its .caffemodel file after it",
          options.model);
  const std::string prefix = options.save_path + "_tensor_decomposition";
  return workflow::decompose_caffe(options.model, options.weights, prefix + ".prototxt",
                                   prefix + ".caffemodel", options.decompose, options.dry_run,
                                   progress);
}

std::vector<LayerResult> run_onnx(const Options& options, const decompose::Progress& progress,
                                  const workflow::BatchProgress& batch_progress) {
  if (!options.weights.empty())
    raise(ErrorCode::kUsage, "an ONNX model holds its own weights; '{}' is one file too many",
          options.weights);
  return workflow::decompose_onnx(options.model, options.save_path,
                                  {options.decompose, options.data, options.batch_num,
                                   options.executor, options.dry_run, progress, batch_progress});
}

std::vector<LayerResult> run_tensorflow(const Options& options,
                                        const decompose::Progress& progress) {
  const std::string checkpoint =
      options.weights.empty() ? std::filesystem::path(options.model).replace_extension().string()
                              : options.weights;
  return workflow::decompose_tensorflow(options.model, checkpoint, options.save_path,
                                        options.decompose, options.dry_run, progress)
      .layers;
}

/// By the ending of the model's name.
std::vector<LayerResult> run_format(const Options& options, const decompose::Progress& progress,
                                    const workflow::BatchProgress& batch_progress) {
  const std::string extension = std::filesystem::path(options.model).extension().string();
  if (!options.only.empty() && extension != options.only)
    raise(ErrorCode::kUsage, "'{}' ends in '{}'; expected {}", options.model, extension,
          options.only);
  if (extension == ".onnx") return run_onnx(options, progress, batch_progress);
  if (extension == ".prototxt") return run_caffe(options, progress);
  if (extension == ".meta") return run_tensorflow(options, progress);
  raise(
      ErrorCode::kUsage,
      "'{}' ends in '{}'; expected .onnx, .meta (TensorFlow) or .prototxt (Caffe). PyTorch models "
      "are decomposed in Python: amct_pytorch.tensor_decompose.auto_decomposition",
      options.model, extension);
}

void run(Options& options) {
  start_logging(options.log_level);
  if (!options.dry_run && options.save_path.empty())
    raise(ErrorCode::kUsage, "--save_path is required (or --dry-run, which writes nothing)");
  std::vector<LayerResult> layers;
  {
    ProgressBar bar;
    const auto show = [&](const char* stage, std::size_t done, std::size_t total) {
      if (!options.quiet) bar.update(stage, done, total);
    };
    layers = run_format(
        options,
        [&](std::size_t done, std::size_t total, const std::string&) {
          show("decompose", done, total);
        },
        [&](std::size_t done, std::size_t total, double) { show("run", done, total); });
  }
  if (!options.report.empty()) write_file(options.report, report::decomposition_json(layers));
  if (!options.quiet) {
    const std::string table =
        report::render_decomposition(layers, options.dry_run, terminal_width());
    std::fwrite(table.data(), 1, table.size(), stdout);
  }
}

}  // namespace

void add_decompose(CLI::App& parent, Action& action, const std::string& only) {
  auto options = std::make_shared<Options>();
  options->only = only;
  CLI::App* app = parent.add_subcommand(
      "decompose", "Split convolutions into two smaller ones each (tensor decomposition)");
  app->footer(kExamples);
  app->add_option("model", options->model, "Model: .onnx, .meta or .prototxt")->required();
  app->add_option(
      "weights", options->weights,
      ".caffemodel, or the checkpoint's prefix (default: the .meta without its ending)");
  app->add_option("--save_path,--save-path", options->save_path,
                  "Folder and file name prefix of the results");
  app->add_option("--rule", options->decompose.rule, "How ranks are chosen (default evbmf)")
      ->transform(CLI::CheckedTransformer(kRules, CLI::ignore_case))
      ->option_text("evbmf|rank|ratio|energy|macs|params");
  app->add_option("--value", options->decompose.value, "Number that the rule needs");
  app->add_option("--skip", options->decompose.skip,
                  "Layer to leave alone, '*' and '?' allowed; may be given several times");
  app->add_option("--min_speedup,--min-speedup", options->decompose.min_speedup,
                  "Leave layers alone whose multiplications fall by less than this factor");
  app->add_flag("--dry-run", options->dry_run, "Show what would be done; write nothing");
  app->add_option("--data_dir,--data-dir", options->data.data_dir,
                  "ONNX: calibration data, one folder per input separated by ';'; ranks stay, "
                  "factors are fitted to the layers' outputs");
  app->add_option("--data_types,--data-types", options->data.data_types,
                  "ONNX: data types \"float32;int64\". Default: the model's");
  app->add_option("--batch_num,--batch-num", options->batch_num,
                  "ONNX: batches to use (default: all)")
      ->check(whole_number(1, std::numeric_limits<std::uint32_t>::max()));
  app->add_option("--input_shape,--input-shape", options->data.input_shape,
                  "ONNX: shapes \"name:1,3,224,224\" of open inputs, to count multiplications");
  app->add_option("--report", options->report, "JSON file for the figures of every layer");
  app->add_option("--threads", options->decompose.threads, "Threads (default: all cores)")
      ->check(whole_number(0, std::numeric_limits<int>::max()));
  app->add_option(
      "--onnxruntime", options->executor.library,
      "ONNX: ONNX Runtime library or its folder, for data and to count multiplications");
  app->add_option("--log-level", options->log_level,
                  "DEBUG, INFO, WARNING or ERROR (default: AMCT_LOG_LEVEL)");
  app->add_flag("--quiet", options->quiet, "No progress bar and no table");
  app->final_callback([options, &action] { action = [options] { run(*options); }; });
}

}  // namespace amct::cli
