#include "amct/report/terminal.h"

#include <fmt/core.h>

#include <algorithm>

#include "amct/report/format.h"

namespace amct::report {
namespace {

constexpr std::size_t kWorstLayers = 10;
constexpr std::size_t kNamesPerReason = 8;
constexpr int kNarrowest = 40;

class Table {
 public:
  Table(const RunReport& report, int width, bool color)
      : report_(report),
        width_(static_cast<std::size_t>(std::max(width, kNarrowest))),
        color_(color) {}

  std::string render() {
    const std::size_t quantized = count_quantized(report_);
    line(bold(fmt::format("{} of {} layers {}", quantized, report_.layers.size(),
                          report_.dry_run ? "would be quantized" : "quantized")));
    if (report_.dry_run)
      all_layers();
    else
      results();
    float_layers();
    if (!report_.dry_run) closing();
    return std::move(text_);
  }

 private:
  void line(const std::string& content) { text_ += content + "\n"; }
  std::string bold(const std::string& content) const {
    return color_ ? "\033[1m" + content + "\033[0m" : content;
  }

  void all_layers() {
    for (const LayerReport& layer : report_.layers)
      if (layer.quantized)
        line(fmt::format("  {:<14} {}", layer.op_type, shortened(layer.name, width_ - 17)));
  }

  void results() {
    if (report_.deploy_bytes > 0)
      line(fmt::format("size: float {} -> deploy {} ({:.0f} %)", bytes_text(report_.float_bytes),
                       bytes_text(report_.deploy_bytes),
                       100.0 * static_cast<double>(report_.deploy_bytes) /
                           static_cast<double>(std::max<std::uint64_t>(report_.float_bytes, 1))));
    if (report_.calibration_batches > 0)
      line(fmt::format("time: {:.2f} s ({} batches, calibration {:.2f} s), peak memory {}",
                       total_seconds(report_), report_.calibration_batches,
                       report_.seconds.calibrate, bytes_text(report_.peak_memory_bytes)));
    const std::vector<const LayerReport*> layers = worst_first(report_);
    if (layers.empty() || !layers.front()->sqnr_db) return;
    line("");
    line(bold("layers with the largest error against the float model"));
    const std::size_t name_width = width_ > 70 ? width_ - 62 : 12;
    line(fmt::format("  {:>9} {:>9} {:>11} {:>6}  {:<14} {}", "SQNR", "cosine", "scale_d", "offset",
                     "type", "layer"));
    for (std::size_t i = 0; i < std::min(kWorstLayers, layers.size()); ++i) {
      const LayerReport& layer = *layers[i];
      line(fmt::format("  {:>9} {:>9} {:>11.5g} {:>6}  {:<14} {}", sqnr_text(layer.sqnr_db),
                       cosine_text(layer.cosine), layer.scale_d, layer.offset_d, layer.op_type,
                       shortened(layer.name, name_width)));
    }
  }

  void float_layers() {
    const std::vector<ReasonGroup> groups = group_by_reason(report_);
    if (groups.empty()) return;
    line("");
    line(bold("layers left in float"));
    for (const ReasonGroup& group : groups) {
      line(fmt::format("  {} x {}", group.layers.size(), group.reason));
      for (std::size_t i = 0; i < std::min(kNamesPerReason, group.layers.size()); ++i)
        line(fmt::format("      {:<14} {}", group.layers[i]->op_type,
                         shortened(group.layers[i]->name, width_ - 21)));
      if (group.layers.size() > kNamesPerReason)
        line(fmt::format("      ... and {} more (all are in the report)",
                         group.layers.size() - kNamesPerReason));
    }
  }

  void closing() {
    line("");
    if (!report_.warnings.empty())
      line(fmt::format("{} warning(s), see the report", report_.warnings.size()));
    for (const std::string& file : report_.files_written) line("  " + file);
  }

  const RunReport& report_;
  std::size_t width_;
  bool color_;
  std::string text_;
};

}  // namespace

std::string render_table(const RunReport& report, int width, bool color) {
  return Table(report, width, color).render();
}

}  // namespace amct::report
