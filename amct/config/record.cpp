#include "amct/config/record.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <unordered_set>

#include "amct/base/error.h"
#include "amct/config/text_proto.h"
#include "amct/config/violations.h"
#include "record.pb.h"

namespace amct::config {
namespace {

using google::protobuf::TextFormat;

LayerRecord from_message(const config_schema::SingleLayerRecord& message) {
  LayerRecord record;
  if (message.has_scale_d()) record.scale_d = message.scale_d();
  if (message.has_offset_d()) record.offset_d = message.offset_d();
  record.scale_w.assign(message.scale_w().begin(), message.scale_w().end());
  record.offset_w.assign(message.offset_w().begin(), message.offset_w().end());
  record.shift_bit.assign(message.shift_bit().begin(), message.shift_bit().end());
  if (message.has_skip_fusion()) record.skip_fusion = message.skip_fusion();
  if (message.has_is_tensor_quantize()) record.is_tensor_quantize = message.is_tensor_quantize();
  record.tensor_balance_factor.assign(message.tensor_balance_factor().begin(),
                                      message.tensor_balance_factor().end());
  if (message.has_op_data_type()) record.op_data_type = message.op_data_type();
  if (message.has_act_type()) record.act_type = message.act_type();
  if (message.has_wts_type()) record.wts_type = message.wts_type();
  return record;
}

void to_message(const LayerRecord& record, config_schema::SingleLayerRecord* message) {
  if (record.scale_d) message->set_scale_d(*record.scale_d);
  if (record.offset_d) message->set_offset_d(*record.offset_d);
  message->mutable_scale_w()->Add(record.scale_w.begin(), record.scale_w.end());
  message->mutable_offset_w()->Add(record.offset_w.begin(), record.offset_w.end());
  message->mutable_shift_bit()->Add(record.shift_bit.begin(), record.shift_bit.end());
  if (record.skip_fusion) message->set_skip_fusion(*record.skip_fusion);
  if (record.is_tensor_quantize) message->set_is_tensor_quantize(*record.is_tensor_quantize);
  message->mutable_tensor_balance_factor()->Add(record.tensor_balance_factor.begin(),
                                                record.tensor_balance_factor.end());
  if (record.op_data_type) message->set_op_data_type(*record.op_data_type);
  if (record.act_type) message->set_act_type(*record.act_type);
  if (record.wts_type) message->set_wts_type(*record.wts_type);
}

// Checks one entry; `path` names it in messages.
class EntryCheck {
 public:
  EntryCheck(std::string path, const LayerRecord& record, Violations* violations)
      : path_(std::move(path)), record_(record), violations_(*violations) {}

  void run() {
    check_types();
    check_activation();
    check_weight();
    check_shift_bits();
    check_numbers("tensor_balance_factor", Option::kBalanceFactor, record_.tensor_balance_factor);
    if (!record_.scale_d && !record_.offset_d && record_.scale_w.empty() &&
        record_.offset_w.empty() && record_.tensor_balance_factor.empty()) {
      violations_.add(path_, "has no factors; remove the entry or calibrate the layer");
    }
  }

 private:
  std::string field(std::string_view name) const { return fmt::format("{}.{}", path_, name); }

  void check_choice(std::string_view name, const std::optional<std::string>& value,
                    std::initializer_list<std::string_view> choices) {
    if (!value || std::find(choices.begin(), choices.end(), *value) != choices.end()) return;
    violations_.add(field(name), "found \"{}\", expected {}", *value, fmt::join(choices, " or "));
  }

  void check_types() {
    check_choice("act_type", record_.act_type, {"INT8", "INT16"});
    check_choice("wts_type", record_.wts_type, {"INT8"});
    check_choice("op_data_type", record_.op_data_type, {"FLOAT16", "FLOAT32"});
  }

  void check_activation() {
    if (record_.scale_d.has_value() != record_.offset_d.has_value()) {
      violations_.add(path_, "has {} without {}; a quantized tensor needs both",
                      record_.scale_d ? "scale_d" : "offset_d",
                      record_.scale_d ? "offset_d" : "scale_d");
    }
    if (record_.scale_d) violations_.check(field("scale_d"), Option::kScale, *record_.scale_d);
    const bool int16 = record_.act_type == "INT16";
    if (record_.offset_d) {
      violations_.check(field("offset_d"), int16 ? Option::kOffsetInt16 : Option::kOffsetInt8,
                        *record_.offset_d);
    }
  }

  void check_weight() {
    if (record_.scale_w.size() != record_.offset_w.size()) {
      violations_.add(path_, "has {} scale_w but {} offset_w; expected as many",
                      record_.scale_w.size(), record_.offset_w.size());
    }
    if (record_.is_tensor_quantize.value_or(false) && !record_.scale_w.empty()) {
      violations_.add(field("scale_w"), "is not allowed in an entry with is_tensor_quantize: true");
    }
    check_numbers("scale_w", Option::kScale, record_.scale_w);
    check_numbers("offset_w", Option::kOffsetWeight, record_.offset_w);
  }

  void check_shift_bits() {
    check_numbers("shift_bit", Option::kShiftBit, record_.shift_bit);
    const auto zeros = std::count(record_.shift_bit.begin(), record_.shift_bit.end(), 0U);
    if (zeros != 0 && static_cast<std::size_t>(zeros) != record_.shift_bit.size()) {
      violations_.add(field("shift_bit"), "{} of {} values are 0, expected all or none", zeros,
                      record_.shift_bit.size());
    }
  }

  template <typename T>
  void check_numbers(std::string_view name, Option option, const std::vector<T>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!in_range(option, static_cast<double>(values[i]))) {
        violations_.check(fmt::format("{}.{}[{}]", path_, name, i), option,
                          static_cast<double>(values[i]));
      }
    }
  }

  std::string path_;
  const LayerRecord& record_;
  Violations& violations_;
};

}  // namespace

Record parse_record(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  Violations violations(fmt::format("record file {}", file_name));
  config_schema::ScaleOffsetRecord message;
  merge_text(text, file_name, &message, &violations, nullptr);
  check_strings(message, "", &violations);
  Record record;
  for (int i = 0; i < message.record_size(); ++i) {
    const config_schema::MapFiledEntry& entry = message.record(i);
    if (!entry.has_key()) violations.add(fmt::format("record[{}]", i), "has no key");
    if (!entry.has_value()) violations.add(fmt::format("record[{}]", i), "has no value");
    record.entries.emplace_back(entry.key(), from_message(entry.value()));
  }
  violations.throw_if_any();
  return record;
}

std::string write_record(const Record& record) {
  config_schema::ScaleOffsetRecord message;
  for (const auto& [key, value] : record.entries) {
    config_schema::MapFiledEntry* entry = message.add_record();
    entry->set_key(key);
    to_message(value, entry->mutable_value());
  }
  TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string text;
  if (!printer.PrintToString(message, &text)) {
    raise(ErrorCode::kInternal, "cannot print a record of {} entries", record.entries.size());
  }
  return text;
}

void validate_record(const Record& record, const std::string& file_name) {
  Violations violations(fmt::format("record file {}", file_name));
  std::unordered_set<std::string_view> keys;
  for (const auto& [key, value] : record.entries) {
    const std::string path = fmt::format("record \"{}\"", key);
    if (key.empty()) violations.add(path, "the key is empty");
    if (!keys.insert(key).second) violations.add(path, "the key occurs more than once");
    EntryCheck(path, value, &violations).run();
  }
  violations.throw_if_any();
}

}  // namespace amct::config
