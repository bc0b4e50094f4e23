#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace amct::workflow {

/// How far a user-driven calibration is. It stands in the record file as comments in front of the
/// records, so that save_model knows it in another process, and after one that ended early.
struct RecordState {
  std::string calibration_id;
  std::size_t seen = 0;  // batches that every operator has seen
  std::size_t batch_num = 0;
  /// Layers for which no factor was found, with the reason.
  std::vector<std::pair<std::string, std::string>> in_float;
  bool operator==(const RecordState&) const = default;

  bool complete() const { return seen >= batch_num; }
};

/// Comment lines of protobuf text.
std::string write_record_state(const RecordState& state);

/// None when the text does not begin with such lines.
std::optional<RecordState> read_record_state(std::string_view text);

}  // namespace amct::workflow
