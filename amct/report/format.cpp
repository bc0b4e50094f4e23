#include "amct/report/format.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace amct::report {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Byte offset of code point `index`, or the length.
std::size_t offset_of(std::string_view text, std::size_t index) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < index && offset < text.size(); ++i) {
    ++offset;
    while (offset < text.size() && continues_character(text[offset])) ++offset;
  }
  return offset;
}

double sort_key(const LayerReport& layer) {
  if (!layer.sqnr_db) return HUGE_VAL;
  return std::isnan(*layer.sqnr_db) ? -HUGE_VAL : *layer.sqnr_db;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  const int digits = unit == 0 || value >= 100.0 ? 0 : (value >= 10.0 ? 1 : 2);
  return fmt::format("{:.{}f} {}", value, digits, kUnits[unit]);
}

std::string sqnr_text(const std::optional<double>& sqnr_db) {
  if (!sqnr_db) return "-";
  if (std::isnan(*sqnr_db)) return "NaN";
  if (std::isinf(*sqnr_db)) return *sqnr_db > 0 ? "exact" : "-inf dB";
  return fmt::format("{:.1f} dB", *sqnr_db);
}

std::string cosine_text(const std::optional<double>& cosine) {
  return cosine ? fmt::format("{:.6f}", *cosine) : "-";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !continues_character(byte); }));
}

std::string shortened(std::string_view text, std::size_t width) {
  std::string clean(text);
  for (char& byte : clean)
    if (static_cast<unsigned char>(byte) < 0x20U || byte == 0x7F) byte = '?';
  const std::size_t length = display_width(clean);
  if (length <= width) return clean;
  if (width <= 3) return clean.substr(0, offset_of(clean, width));
  const std::size_t front = (width - 3 + 1) / 2;
  const std::size_t back = width - 3 - front;
  return clean.substr(0, offset_of(clean, front)) + "..." +
         clean.substr(offset_of(clean, length - back));
}

double total_seconds(const RunReport& report) {
  const StageSeconds& s = report.seconds;
  return s.load + s.prepare + s.calibrate + s.quantize + s.save + s.compare;
}

std::size_t count_quantized(const RunReport& report) {
  return static_cast<std::size_t>(std::ranges::count_if(report.layers, &LayerReport::quantized));
}

std::vector<const LayerReport*> worst_first(const RunReport& report) {
  std::vector<const LayerReport*> layers;
  for (const LayerReport& layer : report.layers)
    if (layer.quantized) layers.push_back(&layer);
  std::ranges::stable_sort(layers, {}, [](const LayerReport* layer) { return sort_key(*layer); });
  return layers;
}

std::vector<ReasonGroup> group_by_reason(const RunReport& report) {
  std::vector<ReasonGroup> groups;
  for (const LayerReport& layer : report.layers) {
    if (layer.quantized) continue;
    auto group = std::ranges::find(groups, layer.reason, &ReasonGroup::reason);
    if (group == groups.end()) group = groups.insert(groups.end(), {layer.reason, {}});
    group->layers.push_back(&layer);
  }
  return groups;
}

}  // namespace amct::report
