#include "amct/config/json_config.h"

#include <fmt/format.h>

#include <array>
#include <unordered_set>

#include "amct/config/json_tree.h"
#include "amct/config/reserved_keys.h"
#include "amct/config/search_check.h"
#include "amct/config/violations.h"

namespace amct::config {
namespace {

using Kind = JsonValue::Kind;

constexpr std::array<std::string_view, 4> kIfmrKeys{"max_percentile", "min_percentile",
                                                    "search_range", "search_step"};

void read_search_range(ObjectReader& reader, IfmrOptions* options) {
  const JsonValue* range = reader.take("search_range");
  if (range == nullptr) return;
  const std::string path = reader.path_of("search_range");
  if (range->kind != Kind::kArray || range->items.size() != 2) {
    reader.violations().add(path, "found {}, expected a list of two numbers",
                            range->kind == Kind::kArray
                                ? fmt::format("a list of {} values", range->items.size())
                                : std::string(describe(*range)));
    return;
  }
  const auto start =
      real_of(range->items[0], path + "[0]", Option::kSearchRangeStart, &reader.violations());
  const auto end =
      real_of(range->items[1], path + "[1]", Option::kSearchRangeEnd, &reader.violations());
  options->search_range_start = start.value_or(options->search_range_start);
  options->search_range_end = end.value_or(options->search_range_end);
  // A wrong bound is already reported; the default beside it would only confuse.
  if (!start || !end) *options = IfmrOptions{};
}

IfmrOptions read_ifmr(ObjectReader& reader) {
  IfmrOptions options;
  read_search_range(reader, &options);
  const IfmrOptions defaults;
  options.max_percentile =
      reader.real("max_percentile", Option::kMaxPercentile).value_or(defaults.max_percentile);
  options.min_percentile =
      reader.real("min_percentile", Option::kMinPercentile).value_or(defaults.min_percentile);
  options.search_step =
      reader.real("search_step", Option::kSearchStep).value_or(defaults.search_step);
  if (const auto violation = search_violation(options)) {
    reader.violations().add(
        reader.path_of(reader.has("search_step") ? "search_step" : "search_range"), "{}",
        *violation);
  }
  return options;
}

HfmgOptions read_hfmg(ObjectReader& reader) {
  HfmgOptions options;
  options.num_of_bins =
      reader.integer("num_of_bins", Option::kNumOfBins).value_or(options.num_of_bins);
  return options;
}

// Takes keys of the other algorithm, which must not be there.
void reject_keys(ObjectReader& reader, std::span<const std::string_view> keys,
                 std::string_view owner, std::string_view algorithm_key,
                 std::string_view algorithm) {
  for (const std::string_view key : keys) {
    if (reader.take(key) != nullptr) {
      reader.violations().add(reader.path_of(key), "belongs to {}, but {} is {}", owner,
                              algorithm_key, algorithm);
    }
  }
}

ActivationOptions read_activation(const JsonValue* value, const std::string& path,
                                  bool activation_offset, Violations* violations) {
  ActivationOptions options;
  options.asymmetric = activation_offset;
  if (value == nullptr) return options;
  ObjectReader reader(*value, path, violations);
  reader.require("num_bits");
  options.num_bits =
      static_cast<int>(reader.integer("num_bits", Option::kActivationBits).value_or(8));
  options.asymmetric = reader.boolean("asymmetric").value_or(activation_offset);
  const std::string algorithm = reader.string("act_algo").value_or("ifmr");
  if (algorithm == "hfmg") {
    options.algorithm = read_hfmg(reader);
    reject_keys(reader, kIfmrKeys, "ifmr", "act_algo", algorithm);
  } else {
    if (algorithm != "ifmr") {
      violations->add(reader.path_of("act_algo"), "found \"{}\", expected ifmr or hfmg", algorithm);
    }
    options.algorithm = read_ifmr(reader);
    if (algorithm == "ifmr") {
      constexpr std::array<std::string_view, 1> kHfmgKeys{"num_of_bins"};
      reject_keys(reader, kHfmgKeys, "hfmg", "act_algo", algorithm);
    } else {
      reader.integer("num_of_bins", Option::kNumOfBins);
    }
  }
  reader.finish();
  return options;
}

void read_weight(const JsonValue& value, const std::string& path, LayerConfig* layer,
                 Violations* violations) {
  ObjectReader reader(value, path, violations);
  reader.require("num_bits");
  layer->weight.num_bits =
      static_cast<int>(reader.integer("num_bits", Option::kWeightBits).value_or(8));
  const auto channel_wise = reader.boolean("channel_wise");
  layer->weight.channel_wise = channel_wise.value_or(true);
  layer->channel_wise_inherited = !reader.has("channel_wise");
  const std::string algorithm = reader.string("wts_algo").value_or("arq_quantize");
  constexpr std::array<std::string_view, 2> kNuqKeys{"num_steps", "num_of_iteration"};
  if (algorithm == "nuq_quantize") {
    NuqOptions nuq;
    nuq.num_steps = reader.integer("num_steps", Option::kNumSteps);
    nuq.num_of_iteration = reader.integer("num_of_iteration", Option::kNumOfIteration);
    layer->nuq = nuq;
  } else {
    if (algorithm != "arq_quantize") {
      violations->add(reader.path_of("wts_algo"),
                      "found \"{}\", expected arq_quantize or nuq_quantize", algorithm);
    }
    reject_keys(reader, kNuqKeys, "nuq_quantize", "wts_algo", algorithm);
  }
  reader.finish();
}

LayerConfig read_layer(const JsonValue& value, const std::string& name, bool activation_offset,
                       Violations* violations) {
  ObjectReader reader(value, name, violations);
  LayerConfig layer;
  layer.quant_enable = reader.boolean("quant_enable").value_or(true);
  layer.dmq_balancer_param = reader.real("dmq_balancer_param", Option::kMigrationStrength);
  layer.activation =
      read_activation(reader.take("activation_quant_params"),
                      reader.path_of("activation_quant_params"), activation_offset, violations);
  layer.channel_wise_inherited = true;
  if (const JsonValue* weight = reader.take("weight_quant_params")) {
    read_weight(*weight, reader.path_of("weight_quant_params"), &layer, violations);
  }
  reader.finish();
  return layer;
}

TensorQuantize read_tensor(const JsonValue& value, const std::string& path, bool activation_offset,
                           Violations* violations) {
  ObjectReader reader(value, path, violations);
  reader.require("layer_name");
  reader.require("input_index");
  TensorQuantize tensor;
  tensor.layer_name = reader.string("layer_name").value_or("");
  tensor.input_index = reader.integer("input_index", Option::kInputIndex).value_or(0);
  tensor.activation =
      read_activation(reader.take("activation_quant_params"),
                      reader.path_of("activation_quant_params"), activation_offset, violations);
  reader.finish();
  return tensor;
}

void read_tensors(ObjectReader& reader, QuantConfig* config) {
  const JsonValue* list = reader.take("tensor_quantize");
  if (list == nullptr) return;
  if (list->kind != Kind::kArray) {
    reader.violations().add("tensor_quantize", "found {}, expected a list of objects",
                            describe(*list));
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    config->tensor_quantize.push_back(read_tensor(list->items[i],
                                                  fmt::format("tensor_quantize[{}]", i),
                                                  config->activation_offset, &reader.violations()));
  }
}

void read_precision_mode(ObjectReader& reader, QuantConfig* config) {
  const auto mode = reader.string("fakequant_precision_mode");
  if (!mode) return;
  if (*mode == "FORCE_FP16_QUANT") {
    config->fakequant_precision_mode = FakequantPrecisionMode::kForceFp16Quant;
  } else if (*mode == "DEFAULT") {
    config->fakequant_precision_mode = FakequantPrecisionMode::kDefault;
  } else {
    reader.violations().add("fakequant_precision_mode",
                            "found \"{}\", expected DEFAULT or FORCE_FP16_QUANT", *mode);
  }
}

void read_globals(ObjectReader& reader, QuantConfig* config) {
  config->version = static_cast<int>(reader.integer("version", Option::kVersion).value_or(1));
  config->batch_num = reader.integer("batch_num", Option::kBatchNum).value_or(1);
  config->activation_offset = reader.boolean("activation_offset").value_or(true);
  config->joint_quant = reader.boolean("joint_quant").value_or(false);
  config->do_fusion = reader.boolean("do_fusion").value_or(true);
  config->skip_fusion_layers = reader.strings("skip_fusion_layers");
  read_tensors(reader, config);
  read_precision_mode(reader, config);
}

}  // namespace

QuantConfig parse_json_config(std::string_view text, const std::string& file_name) {
  check_text(text, file_name);
  const JsonValue root = parse_json(text, file_name);
  Violations violations(fmt::format("quantization config {}", file_name));
  QuantConfig config;
  if (root.kind != Kind::kObject) {
    violations.add(file_name, "found {}, expected an object", describe(root));
    violations.throw_if_any();
  }
  ObjectReader reader(root, "", &violations);
  read_globals(reader, &config);
  std::unordered_set<std::string_view> names;
  for (const auto& [name, value] : root.members) {
    if (is_reserved_key(name) || !names.insert(name).second) continue;
    if (value.kind != Kind::kObject) {
      violations.add(name, "unknown key; found {}, expected an object if it names a layer",
                     describe(value));
      continue;
    }
    config.layers.emplace_back(name,
                               read_layer(value, name, config.activation_offset, &violations));
  }
  violations.throw_if_any();
  return config;
}

}  // namespace amct::config
