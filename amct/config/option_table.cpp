#include "amct/config/option_table.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "amct/base/assert.h"

namespace amct::config {
namespace {

constexpr std::array kTable{
    OptionInfo{Option::kVersion, "version", "", "", "uint32", "1", "{1}", "version of the file"},
    OptionInfo{Option::kBatchNum, "batch_num", "batch_num", "", "uint32", "1", "[1, 4294967295]",
               "batches used for calibration"},
    OptionInfo{Option::kMigrationStrength, "dmq_balancer_param", "migration_strength", "", "float",
               "0.5", "[0.2, 0.8]",
               "share of the quantization difficulty that moves from activation to weight"},
    OptionInfo{Option::kActivationBits, "activation_quant_params.num_bits", "dst_type", "",
               "uint32", "8", "{8, 16}",
               "bits of an activation; the simple config writes INT8 or INT16"},
    OptionInfo{Option::kWeightBits, "weight_quant_params.num_bits", "quant_bits", "", "uint32", "8",
               "{6, 7, 8}", "bits of a weight; 6 and 7 only for Conv with a 4-D weight"},
    OptionInfo{Option::kMaxPercentile, "max_percentile", "max_percentile", "", "float", "0.999999",
               "(0.5, 1]", "IFMR: position of the upper cut; 1 is the maximum"},
    OptionInfo{Option::kMinPercentile, "min_percentile", "min_percentile", "", "float", "0.999999",
               "(0.5, 1]", "IFMR: position of the lower cut; 1 is the minimum"},
    OptionInfo{Option::kSearchRangeStart, "search_range[0]", "search_range_start", "", "float",
               "0.7", "(0, )", "IFMR: smallest factor on the upper cut; less than the largest"},
    OptionInfo{Option::kSearchRangeEnd, "search_range[1]", "search_range_end", "", "float", "1.3",
               "(0, )", "IFMR: largest factor on the upper cut"},
    OptionInfo{Option::kSearchStep, "search_step", "search_step", "", "float", "0.01", "(0, )",
               "IFMR: step between factors; at most the length of the search range"},
    OptionInfo{Option::kNumOfBins, "num_of_bins", "num_of_bins", "", "uint32", "4096",
               "{1024, 2048, 4096, 8192}", "HFMG: bins of the histogram"},
    OptionInfo{Option::kInputIndex, "input_index", "input_index", "", "uint32", "",
               "[0, 4294967295]", "input of the node whose tensor is quantized"},
    OptionInfo{Option::kNumSteps, "num_steps", "num_steps", "", "uint32", "32", "{16, 32}",
               "NUQ: number of levels"},
    OptionInfo{Option::kNumOfIteration, "num_of_iteration", "num_of_iteration", "", "uint32", "0",
               "[0, 5]", "NUQ: rounds of optimization"},
    OptionInfo{Option::kScale, "", "", "scale_d, scale_w", "float", "", "[1.1920929e-07, 8388608]",
               "step between quantized values"},
    OptionInfo{Option::kOffsetInt8, "", "", "offset_d (act_type INT8)", "int32", "", "[-128, 127]",
               "quantized value of zero"},
    OptionInfo{Option::kOffsetInt16, "", "", "offset_d (act_type INT16)", "int32", "",
               "[-32768, 32767]", "quantized value of zero"},
    OptionInfo{Option::kOffsetWeight, "", "", "offset_w", "int32", "", "{0}",
               "weights are quantized symmetrically"},
    OptionInfo{Option::kShiftBit, "", "", "shift_bit", "uint32", "", "[0, 16]",
               "joint quantization: bits that the accumulator is shifted by; all 0 or none"},
    OptionInfo{Option::kBalanceFactor, "", "", "tensor_balance_factor", "float", "",
               "[1.1920929e-07, 8388608]", "DMQ: factor of one input channel"},
};

double number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  double value = 0.0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  AMCT_ASSERT(result.ec == std::errc());
  return value;
}

// Values of "{a, b, c}".
bool in_list(std::string_view list, double value) {
  list = list.substr(1, list.size() - 2);
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (number(list.substr(0, comma)) == value) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

double limit(std::string_view text, bool is_float) {
  const double value = number(text);
  return is_float ? double{static_cast<float>(value)} : value;
}

bool in_interval(std::string_view range, double value, bool is_float) {
  const std::size_t comma = range.find(',');
  const std::string_view low = range.substr(1, comma - 1);
  const std::string_view high = range.substr(comma + 2, range.size() - comma - 3);
  const double low_limit = limit(low, is_float);
  if (range.front() == '[' ? value < low_limit : value <= low_limit) return false;
  return high.empty() ||
         (range.back() == ']' ? value <= limit(high, is_float) : value < limit(high, is_float));
}

std::string cell(std::string_view text) {
  return text.empty() ? std::string("–") : fmt::format("`{}`", text);
}

std::string range_text(std::string_view range) {
  if (range == "(0, )") return "> 0";
  if (range.front() == '{' && range.find(',') == std::string_view::npos) {
    return std::string(range.substr(1, range.size() - 2));
  }
  return std::string(range);
}

}  // namespace

std::span<const OptionInfo> option_table() { return kTable; }

const OptionInfo& option_info(Option option) {
  const OptionInfo& info = kTable.at(static_cast<std::size_t>(option));
  AMCT_ASSERT(info.option == option);
  return info;
}

bool in_range(Option option, double value) {
  const OptionInfo& info = option_info(option);
  const bool is_float = info.type == "float";
  if (!std::isfinite(value)) return false;
  if (is_float) {
    if (std::fabs(value) > double{std::numeric_limits<float>::max()}) return false;
    value = double{static_cast<float>(value)};
  } else if (value != std::floor(value)) {
    return false;
  }
  return info.range.front() == '{' ? in_list(info.range, value)
                                   : in_interval(info.range, value, is_float);
}

std::optional<std::string> range_violation(Option option, double value) {
  if (in_range(option, value)) return std::nullopt;
  const OptionInfo& info = option_info(option);
  const bool is_float = info.type == "float";
  const std::string found =
      is_float ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  const bool is_list = info.range.front() == '{' && info.range.find(',') != std::string_view::npos;
  return fmt::format("found {}, expected {}{}", found, is_list ? "one of " : "",
                     range_text(info.range));
}

std::string option_table_markdown() {
  std::string text =
      "| JSON config | Simple config | Record | Type | Default | Range | Meaning |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const OptionInfo& info : kTable) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(info.json_key),
                        cell(info.simple_field), cell(info.record_field), info.type,
                        info.default_value.empty() ? "–" : info.default_value,
                        range_text(info.range), info.help);
  }
  return text;
}

}  // namespace amct::config
