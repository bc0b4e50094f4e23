#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "amct/workflow/compare_models.h"
#include "amct/workflow/run_model.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/data_options.h"
#include "cli/progress.h"

namespace amct::cli {
namespace {

constexpr const char* kExamples = R"(Example:
  amct diff m.onnx out/m_fake_quant_model.onnx --data=calib --batch_num=4

Tensors that stand in both models under the same name are compared, worst first. Deploy models are
lowered to integer ONNX operators first.)";

struct Options {
  std::string reference;
  std::string other;
  std::size_t most = 40;
  DataSettings settings;
};

void print_table(const workflow::ModelComparison& comparison, std::size_t most) {
  std::vector<const workflow::TensorComparison*> rows;
  std::size_t not_compared = 0;
  for (const workflow::TensorComparison& tensor : comparison.tensors) {
    if (tensor.problem.empty())
      rows.push_back(&tensor);
    else
      ++not_compared;
  }
  std::ranges::stable_sort(rows, {}, [](const auto* row) { return row->sums.sqnr_db(); });
  fmt::print("{:>10} {:>10} {:>12}  tensor\n", "SQNR dB", "cosine", "max error");
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i)
    fmt::print("{:10.2f} {:10.6f} {:12.5g}  {}{}\n", rows[i]->sums.sqnr_db(),
               rows[i]->sums.cosine(), rows[i]->sums.max_difference, rows[i]->name,
               rows[i]->is_output ? " (output)" : "");
  if (rows.size() > most) fmt::print("... and {} better ones (--most)\n", rows.size() - most);
  for (const auto* row : rows)
    if (row->is_output)
      fmt::print("output '{}': SQNR {:.2f} dB, cosine {:.6f}, max error {:.5g}\n", row->name,
                 row->sums.sqnr_db(), row->sums.cosine(), row->sums.max_difference);
  fmt::print(
      "{} tensors compared on {} batch(es), {} of other shapes, {} only in the first model\n",
      rows.size(), comparison.batches, not_compared, comparison.unmatched.size());
}

void diff(const Options& options) {
  start_logging(options.settings.log_level);
  const ir::Model reference = workflow::load_runnable(options.reference);
  const ir::Model other = workflow::load_runnable(options.other);
  const auto data =
      workflow::open_model_data(options.settings.data, reference, options.settings.batch_num);
  workflow::CompareOptions comparing;
  comparing.executor = options.settings.executor;
  workflow::ModelComparison comparison;
  {
    ProgressBar bar;
    comparing.progress = [&](std::size_t done, std::size_t total, double) {
      if (!options.settings.quiet) bar.update("diff", done, total);
    };
    comparison =
        workflow::compare_models(reference, other, *data, options.settings.batch_num, comparing);
  }
  print_table(comparison, options.most);
}

}  // namespace

void add_diff(CLI::App& parent, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("diff", "Compare two models tensor by tensor on data");
  app->footer(kExamples);
  app->add_option("reference", options->reference, "First model (.onnx)")->required();
  app->add_option("other", options->other, "Second model (.onnx)")->required();
  app->add_option("--most", options->most, "Rows to show at the most");
  add_data_options(*app, options->settings);
  app->final_callback([options, &action] { action = [options] { diff(*options); }; });
}

}  // namespace amct::cli
