#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amct/report/run_report.h"

namespace amct::report {

/// "4.5 MB"; three significant digits.
std::string bytes_text(std::uint64_t bytes);
/// "12.3 dB"; "exact" for +infinity, "-" when absent.
std::string sqnr_text(const std::optional<double>& sqnr_db);
std::string cosine_text(const std::optional<double>& cosine);
/// At most `width` code points, the middle replaced by "..."; control characters become '?'.
std::string shortened(std::string_view text, std::size_t width);
/// Code points of a UTF-8 text.
std::size_t display_width(std::string_view text);

/// Seconds of all stages.
double total_seconds(const RunReport& report);
std::size_t count_quantized(const RunReport& report);
/// The quantized layers, the largest error first; layers without a comparison come last.
std::vector<const LayerReport*> worst_first(const RunReport& report);

/// Layers left in float for one reason.
struct ReasonGroup {
  std::string reason;
  std::vector<const LayerReport*> layers;
};
/// In the order in which the reasons first occur.
std::vector<ReasonGroup> group_by_reason(const RunReport& report);

}  // namespace amct::report
