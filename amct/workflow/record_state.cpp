#include "amct/workflow/record_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace amct::workflow {
namespace {

constexpr std::string_view kCalibration = "# calibration ";  // id seen batch_num
constexpr std::string_view kInFloat = "# float ";            // layer, tabulator, reason

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view next_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::size_t> number(std::string_view word) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text;
}

}  // namespace

std::string write_record_state(const RecordState& state) {
  std::string text =
      fmt::format("{}{} {} {}\n", kCalibration, state.calibration_id, state.seen, state.batch_num);
  for (const auto& [layer, reason] : state.in_float)
    text += fmt::format("{}{}\t{}\n", kInFloat, one_line(layer), one_line(reason));
  return text;
}

std::optional<RecordState> read_record_state(std::string_view text) {
  std::string_view line = next_line(text);
  if (!line.starts_with(kCalibration)) return std::nullopt;
  line.remove_prefix(kCalibration.size());
  RecordState state;
  state.calibration_id = next_word(line);
  const auto seen = number(next_word(line));
  const auto batch_num = number(next_word(line));
  if (state.calibration_id.empty() || !seen || !batch_num) return std::nullopt;
  state.seen = *seen;
  state.batch_num = *batch_num;
  while (text.starts_with(kInFloat)) {
    line = next_line(text).substr(kInFloat.size());
    const std::size_t end = line.find('\t');
    if (end == std::string_view::npos) continue;
    state.in_float.emplace_back(line.substr(0, end), line.substr(end + 1));
  }
  return state;
}

}  // namespace amct::workflow
