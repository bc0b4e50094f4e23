#include "amct/report/decompose_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "amct/report/format.h"

namespace amct::report {
namespace {

using decompose::Cost;
using decompose::LayerResult;
using decompose::Mode;

constexpr std::size_t kNarrowest = 100;
constexpr std::size_t kNamesPerReason = 8;

bool is_decomposed(const LayerResult& layer) { return layer.mode != Mode::kUnchange; }

std::string share(std::int64_t after, std::int64_t before) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(after) /
                                     static_cast<double>(std::max<std::int64_t>(before, 1)));
}

/// 1234567 as "1.23 M".
std::string count_text(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G", value / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.2f} M", value / 1e6);
  if (count >= 1'000) return fmt::format("{:.1f} K", value / 1e3);
  return fmt::format("{}", count);
}

/// Of all convolutions; shared weights count once.
struct Totals {
  Cost before;
  Cost after;
};

Totals add_up(std::span<const LayerResult> layers) {
  Totals totals;
  for (const LayerResult& layer : layers) {
    totals.before.macs += layer.before.macs;
    totals.after.macs += layer.after.macs;
    if (layer.shares_with) continue;
    totals.before.params += layer.before.params;
    totals.after.params += layer.after.params;
  }
  return totals;
}

std::string left_alone(std::span<const LayerResult> layers, std::size_t width) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const LayerResult& layer : layers)
    if (!is_decomposed(layer)) by_reason[layer.reason].push_back(layer.name);
  if (by_reason.empty()) return {};
  std::string text = "\nlayers left as they are\n";
  for (const auto& [reason, names] : by_reason) {
    text += fmt::format("  {} x {}\n", names.size(), reason);
    for (std::size_t i = 0; i < std::min(names.size(), kNamesPerReason); ++i)
      text += fmt::format("      {}\n", shortened(names[i], width - 6));
    if (names.size() > kNamesPerReason)
      text += fmt::format("      ... and {} more\n", names.size() - kNamesPerReason);
  }
  return text;
}

nlohmann::ordered_json cost_json(const Cost& cost) {
  return {{"macs", cost.macs}, {"params", cost.params}};
}

}  // namespace

std::string render_decomposition(std::span<const LayerResult> layers, bool dry_run, int columns) {
  const std::size_t width = std::max(static_cast<std::size_t>(std::max(columns, 0)), kNarrowest);
  const auto done = std::ranges::count_if(layers, is_decomposed);
  std::string text = fmt::format("{} of {} convolutions {}\n", done, layers.size(),
                                 dry_run ? "would be decomposed" : "decomposed");
  if (done > 0)
    text += fmt::format("  {:<4} {:>9} {:>20} {:>20} {:>8} {:>8}  {}\n", "mode", "rank", "MACs",
                        "weights", "error", "output", "layer");
  for (const LayerResult& layer : layers) {
    if (!is_decomposed(layer)) continue;
    const auto change = [](std::int64_t before, std::int64_t after) {
      return fmt::format("{} -> {}", count_text(before), count_text(after));
    };
    text += fmt::format("  {:<4} {:>9} {:>20} {:>20} {:>8.4f} {:>8}  {}\n", to_string(layer.mode),
                        fmt::format("{}/{}", layer.rank, layer.full_rank),
                        change(layer.before.macs, layer.after.macs),
                        change(layer.before.params, layer.after.params), layer.relative_error,
                        layer.output_error ? fmt::format("{:.4f}", *layer.output_error) : "-",
                        shortened(layer.name, width - 79));
  }
  const auto [before, after] = add_up(layers);
  if (done > 0)
    text += fmt::format("all convolutions: MACs {} -> {} ({}), weights {} -> {} ({})\n",
                        count_text(before.macs), count_text(after.macs),
                        share(after.macs, before.macs), count_text(before.params),
                        count_text(after.params), share(after.params, before.params));
  return text + left_alone(layers, width);
}

std::string decomposition_json(std::span<const LayerResult> layers) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const LayerResult& layer : layers) {
    nlohmann::ordered_json entry{{"name", layer.name},
                                 {"mode", to_string(layer.mode)},
                                 {"full_rank", layer.full_rank},
                                 {"rank", layer.rank},
                                 {"before", cost_json(layer.before)},
                                 {"after", cost_json(layer.after)}};
    if (is_decomposed(layer))
      entry["relative_error"] = layer.relative_error;
    else
      entry["reason"] = layer.reason;
    if (layer.output_error) entry["output_error"] = *layer.output_error;
    list.push_back(std::move(entry));
  }
  const auto [before, after] = add_up(layers);
  const nlohmann::ordered_json root{
      {"layers", list}, {"before", cost_json(before)}, {"after", cost_json(after)}};
  // Names of layers may hold anything; what is not UTF-8 is replaced.
  return root.dump(1, '\t', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace amct::report
