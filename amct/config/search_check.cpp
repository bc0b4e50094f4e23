#include "amct/config/search_check.h"

#include <fmt/format.h>

#include <charconv>

namespace amct::config {
namespace {

constexpr double kMaxCandidates = 100'000;  // as amct/quant/ifmr_search

// The decimal number that the user wrote: the length of [0.7, 1.3] is 0.6, though not in binary.
double decimal(float value) {
  const std::string text = fmt::format("{}", value);
  double exact = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), exact);
  return exact;
}

}  // namespace

std::optional<std::string> search_violation(const IfmrOptions& options) {
  const double length = decimal(options.search_range_end) - decimal(options.search_range_start);
  const double step = decimal(options.search_step);
  if (!(length > 0.0)) {
    return fmt::format("the search range is [{}, {}], expected its start below its end",
                       options.search_range_start, options.search_range_end);
  }
  if (step > length * (1.0 + 1e-6)) {
    return fmt::format("search_step is {}, expected at most {:.7g}, the length of the search range",
                       options.search_step, length);
  }
  if (length / step >= kMaxCandidates) {
    return fmt::format(
        "search_step {} over the search range [{}, {}] gives more than {} candidates; use a larger "
        "step",
        options.search_step, options.search_range_start, options.search_range_end, kMaxCandidates);
  }
  return std::nullopt;
}

}  // namespace amct::config
