#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace amct::config {

/// Every number that a user can set in a config or record file.
enum class Option {
  kVersion,
  kBatchNum,
  kMigrationStrength,
  kActivationBits,
  kWeightBits,
  kMaxPercentile,
  kMinPercentile,
  kSearchRangeStart,
  kSearchRangeEnd,
  kSearchStep,
  kNumOfBins,
  kInputIndex,
  kNumSteps,
  kNumOfIteration,
  kScale,
  kOffsetInt8,
  kOffsetInt16,
  kOffsetWeight,
  kShiftBit,
  kBalanceFactor
};

/// What holds for one number: how it is called in the files, its type, default, range and meaning.
struct OptionInfo {
  Option option;
  std::string_view json_key;       // empty: not in the JSON config
  std::string_view simple_field;   // empty: not in the simple config
  std::string_view record_field;   // empty: not in the record file
  std::string_view type;           // "uint32", "int32" or "float"
  std::string_view default_value;  // as written in a file; empty: none
  std::string_view range;          // "{8, 16}" lists values; "(0.5, 1]" bounds, empty side: none
  std::string_view help;
};

/// All options, in the order of Option.
std::span<const OptionInfo> option_table();

/// Returns the entry of the option.
const OptionInfo& option_info(Option option);

/// Returns whether the number is in the option's range; NaN and infinities never are. Floats are
/// compared in single precision, as they are kept.
bool in_range(Option option, double value);

/// Returns "found X, expected Y" if the number is out of range.
std::optional<std::string> range_violation(Option option, double value);

/// Returns the table of all options in Markdown, as docs/config.md has it.
std::string option_table_markdown();

}  // namespace amct::config
