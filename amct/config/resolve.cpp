#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "amct/base/log.h"
#include "amct/config/name_check.h"
#include "amct/config/reserved_keys.h"
#include "amct/config/search_check.h"
#include "amct/config/simple_config.h"
#include "amct/config/violations.h"

namespace amct::config {
namespace {

template <typename T>
void overwrite(std::optional<T>& target, const std::optional<T>& source) {
  if (source) target = source;
}

// Settings of one layer or tensor, merged field by field from general to special.
struct Merged {
  ArqSetting arq;
  std::optional<NuqOptions> nuq;
  IfmrSetting ifmr;
  HfmgSetting hfmg;
  bool use_hfmg = false;
  std::optional<bool> asymmetric;
  std::optional<int> num_bits;
  std::optional<float> migration_strength;

  void apply(const WeightSetting& setting) {
    if (const auto* arq_part = std::get_if<ArqSetting>(&setting)) {
      nuq.reset();
      overwrite(arq.channel_wise, arq_part->channel_wise);
      overwrite(arq.quant_bits, arq_part->quant_bits);
    } else if (const auto* nuq_part = std::get_if<NuqOptions>(&setting)) {
      if (!nuq) nuq.emplace();
      overwrite(nuq->num_steps, nuq_part->num_steps);
      overwrite(nuq->num_of_iteration, nuq_part->num_of_iteration);
    }
  }

  void apply(const ActivationSetting& setting) {
    if (const auto* ifmr_part = std::get_if<IfmrSetting>(&setting)) {
      use_hfmg = false;
      overwrite(ifmr.search_range_start, ifmr_part->search_range_start);
      overwrite(ifmr.search_range_end, ifmr_part->search_range_end);
      overwrite(ifmr.search_step, ifmr_part->search_step);
      overwrite(ifmr.max_percentile, ifmr_part->max_percentile);
      overwrite(ifmr.min_percentile, ifmr_part->min_percentile);
      overwrite(asymmetric, ifmr_part->asymmetric);
      overwrite(num_bits, ifmr_part->num_bits);
    } else if (const auto* hfmg_part = std::get_if<HfmgSetting>(&setting)) {
      use_hfmg = true;
      overwrite(hfmg.num_of_bins, hfmg_part->num_of_bins);
      overwrite(asymmetric, hfmg_part->asymmetric);
      overwrite(num_bits, hfmg_part->num_bits);
    }
  }

  void apply(const CalibrationSetting& setting) {
    apply(setting.weights);
    apply(setting.activation);
    overwrite(migration_strength, setting.migration_strength);
  }

  [[nodiscard]] ActivationOptions activation(bool activation_offset) const {
    ActivationOptions options;
    options.num_bits = num_bits.value_or(options.num_bits);
    options.asymmetric = asymmetric.value_or(activation_offset);
    if (use_hfmg) {
      HfmgOptions algorithm;
      algorithm.num_of_bins = hfmg.num_of_bins.value_or(algorithm.num_of_bins);
      options.algorithm = algorithm;
      return options;
    }
    IfmrOptions algorithm;
    algorithm.max_percentile = ifmr.max_percentile.value_or(algorithm.max_percentile);
    algorithm.min_percentile = ifmr.min_percentile.value_or(algorithm.min_percentile);
    algorithm.search_range_start = ifmr.search_range_start.value_or(algorithm.search_range_start);
    algorithm.search_range_end = ifmr.search_range_end.value_or(algorithm.search_range_end);
    algorithm.search_step = ifmr.search_step.value_or(algorithm.search_step);
    options.algorithm = algorithm;
    return options;
  }
};

class Resolver {
 public:
  Resolver(const SimpleConfig& simple, const ModelInfo& model)
      : simple_(simple), model_(model), names_(model, &violations_) {}

  QuantConfig run() {
    check_names();
    check_override_types();
    QuantConfig config = globals();
    for (const LayerInfo& layer : model_.layers) {
      if (is_reserved_key(layer.name)) {
        log_warning("layer \"{}\" is not quantized: its name is a key of the config; rename it",
                    layer.name);
        continue;
      }
      config.layers.emplace_back(layer.name, resolve_layer(layer));
    }
    for (const TensorSetting& tensor : simple_.tensor_quantize) {
      Merged merged;
      merged.apply(tensor.activation);
      const ActivationOptions activation = merged.activation(config.activation_offset);
      check_search(activation,
                   fmt::format("tensor \"{}:{}\"", tensor.layer_name, tensor.input_index));
      config.tensor_quantize.push_back({tensor.layer_name, tensor.input_index, activation});
    }
    names_.tensors(config.tensor_quantize);
    violations_.throw_if_any();
    return config;
  }

 private:
  [[nodiscard]] QuantConfig globals() const {
    QuantConfig config;
    config.batch_num = simple_.batch_num.value_or(config.batch_num);
    config.activation_offset = simple_.activation_offset.value_or(config.activation_offset);
    config.joint_quant = simple_.joint_quant.value_or(config.joint_quant);
    config.do_fusion = simple_.do_fusion.value_or(config.do_fusion);
    config.fakequant_precision_mode = simple_.fakequant_precision_mode;
    config.skip_fusion_layers = simple_.skip_fusion_layers;
    return config;
  }

  void check_names() {
    for (std::size_t i = 0; i < simple_.skip_layers.size(); ++i) {
      names_.layer(fmt::format("skip_layers[{}]", i), simple_.skip_layers[i]);
      skipped_.insert(simple_.skip_layers[i]);
    }
    for (std::size_t i = 0; i < simple_.skip_layer_types.size(); ++i) {
      names_.type(fmt::format("skip_layer_types[{}]", i), simple_.skip_layer_types[i]);
    }
    for (std::size_t i = 0; i < simple_.skip_fusion_layers.size(); ++i) {
      names_.node(fmt::format("skip_fusion_layers[{}]", i), simple_.skip_fusion_layers[i]);
    }
    for (std::size_t i = 0; i < simple_.override_layers.size(); ++i) {
      const OverrideSetting& entry = simple_.override_layers[i];
      const std::string where = fmt::format("override_layer_configs[{}]", i);
      if (const LayerInfo* layer = names_.layer(where + ".layer_name", entry.name)) {
        overrides_[entry.name].push_back(&entry.calibration);
        check_override(where + ".calibration_config", entry.calibration, *layer);
      }
    }
  }

  void check_override_types() {
    for (std::size_t i = 0; i < simple_.override_types.size(); ++i) {
      const OverrideSetting& entry = simple_.override_types[i];
      const std::string where = fmt::format("override_layer_types[{}]", i);
      names_.type(where + ".layer_type", entry.name);
      const auto* arq = std::get_if<ArqSetting>(&entry.calibration.weights);
      if (arq != nullptr && arq->quant_bits.value_or(8) != 8 && entry.name != "Conv" &&
          entry.name != "Conv2d") {
        violations_.add(where + ".calibration_config.arq_quantize.quant_bits",
                        "found {} for type {}, expected 8; 6 and 7 are for Conv with a 4-D weight",
                        *arq->quant_bits, entry.name);
      }
    }
  }

  // What one layer's own entry must not ask for.
  void check_override(const std::string& where, const CalibrationSetting& setting,
                      const LayerInfo& layer) {
    if (const auto* arq = std::get_if<ArqSetting>(&setting.weights)) {
      check_override_weight(where + ".arq_quantize", *arq, layer);
    }
    Merged own;
    own.apply(setting.activation);
    const std::string algorithm = where + (own.use_hfmg ? ".hfmg_quantize" : ".ifmr_quantize");
    if (own.asymmetric.value_or(false) && !allows_asymmetric(layer)) {
      violations_.add(algorithm + ".asymmetric",
                      "found true for layer \"{}\" ({}), which has no constant weight; expected "
                      "false",
                      layer.name, layer.op_type);
    }
    if (own.num_bits.value_or(8) != 8 && !allows_int16(layer)) {
      violations_.add(algorithm + ".dst_type", "found INT16 for layer \"{}\" ({}), expected INT8",
                      layer.name, layer.op_type);
    }
  }

  void check_override_weight(const std::string& where, const ArqSetting& arq,
                             const LayerInfo& layer) {
    if (arq.quant_bits.value_or(8) != 8 && !is_conv_2d(layer)) {
      violations_.add(where + ".quant_bits",
                      "found {} for layer \"{}\" ({}), expected 8; 6 and 7 are for Conv with a 4-D "
                      "weight",
                      *arq.quant_bits, layer.name, layer.op_type);
    }
    if (arq.channel_wise.value_or(false) && !layer.per_channel_allowed) {
      violations_.add(where + ".channel_wise",
                      "found true for layer \"{}\" ({}), which has one factor for all of its "
                      "weight; expected false",
                      layer.name, layer.op_type);
    }
  }

  [[nodiscard]] bool is_skipped(const LayerInfo& layer) const {
    return skipped_.contains(layer.name) ||
           std::any_of(simple_.skip_layer_types.begin(), simple_.skip_layer_types.end(),
                       [&](const std::string& type) { return type_matches(type, layer); });
  }

  LayerConfig resolve_layer(const LayerInfo& layer) {
    Merged merged;
    merged.apply(simple_.common);
    for (const OverrideSetting& entry : simple_.override_types) {
      if (type_matches(entry.name, layer)) merged.apply(entry.calibration);
    }
    if (const auto found = overrides_.find(layer.name); found != overrides_.end()) {
      for (const CalibrationSetting* setting : found->second) merged.apply(*setting);
    }
    LayerConfig config;
    config.quant_enable = !is_skipped(layer);
    config.dmq_balancer_param = merged.migration_strength;
    config.activation = merged.activation(simple_.activation_offset.value_or(true));
    if (!allows_asymmetric(layer)) config.activation.asymmetric = false;
    if (!allows_int16(layer)) config.activation.num_bits = 8;
    config.weight.num_bits =
        is_conv_2d(layer) ? static_cast<int>(merged.arq.quant_bits.value_or(8)) : 8;
    config.weight.channel_wise =
        layer.per_channel_allowed && merged.arq.channel_wise.value_or(true);
    config.nuq = merged.nuq;
    check_search(config.activation, fmt::format("layer \"{}\"", layer.name));
    return config;
  }

  // Reports each combination once, at its first layer.
  void check_search(const ActivationOptions& activation, const std::string& where) {
    const auto* ifmr = std::get_if<IfmrOptions>(&activation.algorithm);
    if (ifmr == nullptr) return;
    const auto violation = search_violation(*ifmr);
    if (violation && reported_.insert(*violation).second) violations_.add(where, "{}", *violation);
  }

  const SimpleConfig& simple_;
  const ModelInfo& model_;
  Violations violations_{"the simple config, applied to the model,"};
  NameCheck names_;
  std::unordered_set<std::string_view> skipped_;
  std::unordered_map<std::string_view, std::vector<const CalibrationSetting*>> overrides_;
  std::unordered_set<std::string> reported_;
};

}  // namespace

QuantConfig resolve(const SimpleConfig& simple, const ModelInfo& model) {
  return Resolver(simple, model).run();
}

}  // namespace amct::config
