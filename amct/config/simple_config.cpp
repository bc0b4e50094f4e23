#include "amct/config/simple_config.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include "amct/base/log.h"
#include "amct/config/text_proto.h"
#include "amct/config/violations.h"
#include "calibration.pb.h"

namespace amct::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::TextFormat;
using Tree = TextFormat::ParseInfoTree;

// Warns of each pair of exclusive fields that both stand in the file.
class ExclusiveCheck {
 public:
  explicit ExclusiveCheck(const std::string& file_name) : file_name_(file_name) {}

  void run(const Message& message, Tree& tree, const std::string& path) {
    for (int i = 0; i < message.GetDescriptor()->oneof_decl_count(); ++i) {
      check(message, *message.GetDescriptor()->oneof_decl(i), tree, path);
    }
    std::vector<const FieldDescriptor*> fields;
    message.GetReflection()->ListFields(message, &fields);
    for (const FieldDescriptor* field : fields) {
      if (field->type() == FieldDescriptor::TYPE_MESSAGE) descend(message, *field, tree, path);
    }
  }

 private:
  void check(const Message& message, const OneofDescriptor& group, const Tree& tree,
             const std::string& path) {
    const FieldDescriptor* kept = message.GetReflection()->GetOneofFieldDescriptor(message, &group);
    for (int i = 0; i < group.field_count(); ++i) {
      const FieldDescriptor* field = group.field(i);
      const TextFormat::ParseLocation location = tree.GetLocation(field, -1);
      if (field == kept || location.line < 0) continue;
      log_warning("{}:{}:{}: {}{} is ignored, since {} follows it", file_name_, location.line + 1,
                  location.column + 1, path, field->name(), kept->name());
    }
  }

  void descend(const Message& message, const FieldDescriptor& field, Tree& tree,
               const std::string& path) {
    const auto& reflection = *message.GetReflection();
    if (!field.is_repeated()) {
      Tree* nested = tree.GetTreeForNested(&field, -1);
      if (nested != nullptr) {
        run(reflection.GetMessage(message, &field), *nested, path + field.name() + ".");
      }
      return;
    }
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      Tree* nested = tree.GetTreeForNested(&field, i);
      if (nested != nullptr) {
        run(reflection.GetRepeatedMessage(message, &field, i), *nested,
            fmt::format("{}{}[{}].", path, field.name(), i));
      }
    }
  }

  const std::string& file_name_;
};

// Turns the messages into our structs and checks each number's range.
class Converter {
 public:
  explicit Converter(Violations* violations) : violations_(*violations) {}

  SimpleConfig convert(const config_schema::AMCTConfig& message) {
    SimpleConfig config;
    read_globals(message, &config);
    config.common = calibration(message.common_config(), "common_config");
    for (int i = 0; i < message.override_layer_types_size(); ++i) {
      const auto& entry = message.override_layer_types(i);
      const std::string path = fmt::format("override_layer_types[{}].calibration_config", i);
      config.override_types.push_back(
          {entry.layer_type(), calibration(entry.calibration_config(), path)});
    }
    for (int i = 0; i < message.override_layer_configs_size(); ++i) {
      const auto& entry = message.override_layer_configs(i);
      const std::string path = fmt::format("override_layer_configs[{}].calibration_config", i);
      config.override_layers.push_back(
          {entry.layer_name(), calibration(entry.calibration_config(), path)});
    }
    for (int i = 0; i < message.tensor_quantize_size(); ++i) {
      const auto& entry = message.tensor_quantize(i);
      config.tensor_quantize.push_back({entry.layer_name(), entry.input_index(),
                                        activation(entry, fmt::format("tensor_quantize[{}]", i))});
    }
    return config;
  }

 private:
  void read_globals(const config_schema::AMCTConfig& message, SimpleConfig* config) {
    if (message.has_batch_num()) {
      config->batch_num = integer("batch_num", Option::kBatchNum, message.batch_num());
    }
    if (message.has_activation_offset()) config->activation_offset = message.activation_offset();
    if (message.has_joint_quant()) config->joint_quant = message.joint_quant();
    if (message.has_do_fusion()) config->do_fusion = message.do_fusion();
    if (message.has_fakequant_precision_mode()) {
      config->fakequant_precision_mode =
          message.fakequant_precision_mode() == config_schema::FORCE_FP16_QUANT
              ? FakequantPrecisionMode::kForceFp16Quant
              : FakequantPrecisionMode::kDefault;
    }
    config->skip_layers.assign(message.skip_layers().begin(), message.skip_layers().end());
    config->skip_layer_types.assign(message.skip_layer_types().begin(),
                                    message.skip_layer_types().end());
    config->skip_fusion_layers.assign(message.skip_fusion_layers().begin(),
                                      message.skip_fusion_layers().end());
    if (message.has_nuq_config()) {
      has_nuq_mapping_ = true;
      config->nuq = NuqSetting{.mapping_file = message.nuq_config().mapping_file(), .options = {}};
      if (message.nuq_config().has_nuq_quantize()) {
        config->nuq->options = nuq(message.nuq_config().nuq_quantize(), "nuq_config.nuq_quantize");
      }
    }
  }

  CalibrationSetting calibration(const config_schema::CalibrationConfig& message,
                                 const std::string& path) {
    CalibrationSetting setting;
    if (message.has_arq_quantize()) {
      setting.weights = arq(message.arq_quantize(), path + ".arq_quantize");
    } else if (message.has_nuq_quantize()) {
      setting.weights = nuq(message.nuq_quantize(), path + ".nuq_quantize");
      if (!has_nuq_mapping_) {
        violations_.add(path + ".nuq_quantize", "needs nuq_config with a mapping_file");
      }
    }
    setting.activation = activation(message, path);
    if (message.has_dmq_balancer()) {
      setting.migration_strength =
          real(path + ".dmq_balancer.migration_strength", Option::kMigrationStrength,
               message.dmq_balancer().migration_strength());
    }
    return setting;
  }

  template <typename Owner>
  ActivationSetting activation(const Owner& message, const std::string& path) {
    if (message.has_ifmr_quantize()) return ifmr(message.ifmr_quantize(), path + ".ifmr_quantize");
    if (message.has_hfmg_quantize()) return hfmg(message.hfmg_quantize(), path + ".hfmg_quantize");
    return {};
  }

  ArqSetting arq(const config_schema::ARQuantize& message, const std::string& path) {
    ArqSetting setting;
    if (message.has_channel_wise()) setting.channel_wise = message.channel_wise();
    if (message.has_quant_bits()) {
      setting.quant_bits = integer(path + ".quant_bits", Option::kWeightBits, message.quant_bits());
    }
    return setting;
  }

  NuqOptions nuq(const config_schema::NUQuantize& message, const std::string& path) {
    NuqOptions options;
    if (message.has_num_steps()) {
      options.num_steps = integer(path + ".num_steps", Option::kNumSteps, message.num_steps());
    }
    if (message.has_num_of_iteration()) {
      options.num_of_iteration =
          integer(path + ".num_of_iteration", Option::kNumOfIteration, message.num_of_iteration());
    }
    return options;
  }

  IfmrSetting ifmr(const config_schema::FMRQuantize& message, const std::string& path) {
    IfmrSetting setting;
    if (message.has_search_range_start()) {
      setting.search_range_start = real(path + ".search_range_start", Option::kSearchRangeStart,
                                        message.search_range_start());
    }
    if (message.has_search_range_end()) {
      setting.search_range_end =
          real(path + ".search_range_end", Option::kSearchRangeEnd, message.search_range_end());
    }
    if (message.has_search_step()) {
      setting.search_step = real(path + ".search_step", Option::kSearchStep, message.search_step());
    }
    if (message.has_max_percentile()) {
      setting.max_percentile =
          real(path + ".max_percentile", Option::kMaxPercentile, message.max_percentile());
    }
    if (message.has_min_percentile()) {
      setting.min_percentile =
          real(path + ".min_percentile", Option::kMinPercentile, message.min_percentile());
    }
    read_common(message, &setting);
    return setting;
  }

  HfmgSetting hfmg(const config_schema::HFMGQuantize& message, const std::string& path) {
    HfmgSetting setting;
    if (message.has_num_of_bins()) {
      setting.num_of_bins =
          integer(path + ".num_of_bins", Option::kNumOfBins, message.num_of_bins());
    }
    read_common(message, &setting);
    return setting;
  }

  template <typename From, typename To>
  void read_common(const From& message, To* setting) {
    if (message.has_asymmetric()) setting->asymmetric = message.asymmetric();
    if (message.has_dst_type()) {
      setting->num_bits = message.dst_type() == config_schema::INT16 ? 16 : 8;
    }
  }

  std::uint32_t integer(const std::string& path, Option option, std::uint32_t value) {
    violations_.check(path, option, value);
    return value;
  }

  float real(const std::string& path, Option option, float value) {
    violations_.check(path, option, double{value});
    return value;
  }

  Violations& violations_;
  bool has_nuq_mapping_ = false;
};

}  // namespace

SimpleConfig parse_simple_config(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  Violations violations(fmt::format("simple config {}", file_name));
  config_schema::AMCTConfig message;
  Tree locations;
  merge_text(text, file_name, &message, &violations, &locations);
  check_strings(message, "", &violations);
  SimpleConfig config = Converter(&violations).convert(message);
  violations.throw_if_any();
  ExclusiveCheck(file_name).run(message, locations, "");
  return config;
}

}  // namespace amct::config
