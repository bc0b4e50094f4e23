#include "amct/report/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "amct/report/format.h"
#include "amct/report/page.h"

namespace amct::report {
namespace {

constexpr std::size_t kLayersWithHistograms = 500;
constexpr std::size_t kBars = 64;
constexpr double kPlotWidth = 320.0;
constexpr double kPlotHeight = 90.0;

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char byte : text) {
    switch (byte) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += static_cast<unsigned char>(byte) < 0x20U ? '?' : byte;
    }
  }
  return result;
}

/// At most kBars counts; neighbours are added up.
std::vector<double> bars_of(const std::vector<std::uint64_t>& bins) {
  const std::size_t count = std::min(kBars, bins.size());
  std::vector<double> bars(count, 0.0);
  for (std::size_t i = 0; i < bins.size(); ++i)
    bars[i * count / bins.size()] += static_cast<double>(bins[i]);
  return bars;
}

/// Bars on a logarithmic scale, so that thin tails stay visible, with lines at the clip range.
std::string plot(const ReportHistogram& histogram, double clip_min, double clip_max,
                 const char* title) {
  const std::vector<double> bars = bars_of(histogram.bins);
  const double highest = bars.empty() ? 0.0 : std::ranges::max(bars);
  if (highest <= 0.0) return {};
  const double low = std::min(histogram.min, clip_min);
  const double range = std::max(std::max(histogram.max, clip_max) - low, 1e-30);
  const auto x_of = [&](double value) { return (value - low) / range * kPlotWidth; };
  std::string svg = fmt::format(
      "<figure><figcaption>{}: [{:.4g}, {:.4g}], clip [{:.4g}, {:.4g}]</figcaption>"
      "<svg viewBox=\"0 0 {} {}\" role=\"img\"><g class=\"bars\">",
      title, histogram.min, histogram.max, clip_min, clip_max, kPlotWidth, kPlotHeight);
  const double step = (histogram.max - histogram.min) / static_cast<double>(bars.size());
  for (std::size_t i = 0; i < bars.size(); ++i) {
    if (bars[i] <= 0.0) continue;
    const double height = std::log1p(bars[i]) / std::log1p(highest) * kPlotHeight;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                       x_of(histogram.min + step * static_cast<double>(i)), kPlotHeight - height,
                       std::max(step / range * kPlotWidth, 1.0), height);
  }
  svg += "</g>";
  for (const double clip : {clip_min, clip_max})
    svg += fmt::format("<line class=\"clip\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1}\"/>",
                       x_of(clip), kPlotHeight);
  return svg + "</svg></figure>";
}

std::string cell(const std::string& content, const std::string& key = {}) {
  return key.empty() ? "<td>" + content + "</td>"
                     : fmt::format("<td data-key=\"{}\">{}</td>", key, content);
}

std::string number_cell(const std::string& text, const std::optional<double>& value) {
  const bool usable = value && std::isfinite(*value);
  return cell(text, usable ? fmt::format("{:.9g}", *value) : "1e99");
}

std::string details_of(const LayerReport& layer, bool with_plots) {
  std::string text = fmt::format(
      "<details><summary>{}</summary><p>{} activations, range [{:.4g}, {:.4g}], clip [{:.4g}, "
      "{:.4g}], INT{}",
      escaped(layer.name), escaped(layer.algorithm), layer.observed_min, layer.observed_max,
      layer.clip_min, layer.clip_max, layer.activation_bits);
  if (layer.non_finite_count > 0)
    text += fmt::format(", {} values were NaN or infinite and ignored", layer.non_finite_count);
  if (layer.weight_bits > 0)
    text += fmt::format("<br>weights INT{}, one scale per {}, {:.4g} to {:.4g}", layer.weight_bits,
                        layer.per_channel ? "channel" : "tensor", layer.weight_scale_min,
                        layer.weight_scale_max);
  if (!layer.raised_channels.empty())
    text +=
        fmt::format("<br>the weight scale of {} channel(s) was raised so that the bias fits int32",
                    layer.raised_channels.size());
  text += "<br>padding pads with the integer of zero, offset_d</p>";
  if (with_plots) {
    text += plot(layer.activation_histogram, layer.clip_min, layer.clip_max, "activations");
    text += plot(layer.weight_histogram, layer.weight_clip_min, layer.weight_clip_max, "weights");
  }
  return text + "</details>";
}

std::string row_of(const LayerReport& layer, bool with_plots) {
  std::string row = layer.quantized ? "<tr>" : "<tr class=\"float\">";
  row += cell(layer.quantized ? details_of(layer, with_plots) : escaped(layer.name),
              escaped(layer.name));
  row += cell(escaped(layer.op_type));
  if (!layer.quantized) {
    return row + "<td colspan=\"5\">float: " + escaped(layer.reason) + "</td></tr>\n";
  }
  row += number_cell(sqnr_text(layer.sqnr_db), layer.sqnr_db);
  row += number_cell(cosine_text(layer.cosine), layer.cosine);
  row += number_cell(fmt::format("{:.6g}", layer.scale_d), layer.scale_d);
  row += number_cell(fmt::format("{}", layer.offset_d), layer.offset_d);
  row += number_cell(layer.parameter_bytes_before == 0
                         ? "-"
                         : fmt::format("{} &rarr; {}", bytes_text(layer.parameter_bytes_before),
                                       bytes_text(layer.parameter_bytes_after)),
                     static_cast<double>(layer.parameter_bytes_before));
  return row + "</tr>\n";
}

std::string summary_of(const RunReport& report) {
  std::string text = "<dl>";
  const auto entry = [&text](const char* name, const std::string& value) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>", name, value);
  };
  entry("model", escaped(report.model));
  entry("results", escaped(report.prefix));
  entry("layers", fmt::format("{} of {} quantized", count_quantized(report), report.layers.size()));
  entry("size", fmt::format("float {}, deploy {}, fake_quant {}", bytes_text(report.float_bytes),
                            bytes_text(report.deploy_bytes), bytes_text(report.fake_quant_bytes)));
  const StageSeconds& s = report.seconds;
  entry("time",
        fmt::format(
            "{:.2f} s: load {:.2f}, prepare {:.2f}, calibrate {:.2f}, quantize {:.2f}, compare "
            "{:.2f}, save {:.2f}",
            total_seconds(report), s.load, s.prepare, s.calibrate, s.quantize, s.compare, s.save));
  entry("peak memory", bytes_text(report.peak_memory_bytes));
  entry("calibration", fmt::format("{} batches", report.calibration_batches));
  entry("made", fmt::format("{} by AMCT {}", escaped(report.date), escaped(report.tool_version)));
  if (!report.command_line.empty())
    entry("command", "<code>" + escaped(report.command_line) + "</code>");
  return text + "</dl>";
}

std::string warnings_of(const RunReport& report) {
  if (report.warnings.empty()) return {};
  std::string text = "<h2>Warnings</h2><ul>";
  for (const std::string& warning : report.warnings) text += "<li>" + escaped(warning) + "</li>";
  return text + "</ul>";
}

}  // namespace

std::string render_html(const RunReport& report) {
  std::vector<const LayerReport*> plotted = worst_first(report);
  plotted.resize(std::min(plotted.size(), kLayersWithHistograms));
  std::ranges::sort(plotted);
  std::string page = fmt::format(fmt::runtime(kPageHead), escaped(report.model));
  page += summary_of(report) + warnings_of(report) + kTableHead;
  for (const LayerReport& layer : report.layers)
    page += row_of(layer, std::ranges::binary_search(plotted, &layer));
  return page + kPageFoot;
}

}  // namespace amct::report
