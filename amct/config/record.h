#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace amct::config {

/// Factors of one layer or tensor; fields as in the record file (spec onnx_and_cli 18).
struct LayerRecord {
  std::optional<float> scale_d;
  std::optional<std::int32_t> offset_d;
  std::vector<float> scale_w;          // one value, or one per channel
  std::vector<std::int32_t> offset_w;  // as long as scale_w
  std::vector<std::uint32_t> shift_bit;
  std::optional<bool> skip_fusion;
  std::optional<bool> is_tensor_quantize;
  std::vector<float> tensor_balance_factor;  // one per input channel
  std::optional<std::string> op_data_type;
  std::optional<std::string> act_type;
  std::optional<std::string> wts_type;
  bool operator==(const LayerRecord&) const = default;
};

/// Content of a record file: keys ("layer" or "layer:input") with their factors, in file order.
struct Record {
  std::vector<std::pair<std::string, LayerRecord>> entries;
  bool operator==(const Record&) const = default;
};

/// Reads a record file (text protobuf). Throws Error(kInvalidConfig) with line and column.
Record parse_record(std::string_view text, const std::string& file_name);

/// Returns the record as text protobuf; floats read back bit-exact.
std::string write_record(const Record& record);

/// Checks ranges, finiteness, lengths and duplicate keys (spec onnx_and_cli 18, design notes).
/// Throws Error(kInvalidConfig) that lists every violation.
void validate_record(const Record& record, const std::string& file_name);

}  // namespace amct::config
