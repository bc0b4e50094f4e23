#include <cstdint>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "amct/base/error.h"
#include "amct/config/json_config.h"
#include "amct/config/reserved_keys.h"

namespace amct::config {
namespace {

// Keys in the order of insertion; numbers in single precision, so that 0.7F is written as 0.7.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool,
                                  std::int64_t, std::uint64_t, float>;

Json activation_json(const ActivationOptions& options) {
  Json json = Json::object();
  json["num_bits"] = options.num_bits;
  if (const auto* ifmr = std::get_if<IfmrOptions>(&options.algorithm)) {
    json["max_percentile"] = ifmr->max_percentile;
    json["min_percentile"] = ifmr->min_percentile;
    json["search_range"] = {ifmr->search_range_start, ifmr->search_range_end};
    json["search_step"] = ifmr->search_step;
    json["act_algo"] = "ifmr";
  } else {
    json["act_algo"] = "hfmg";
    json["num_of_bins"] = std::get<HfmgOptions>(options.algorithm).num_of_bins;
  }
  json["asymmetric"] = options.asymmetric;
  return json;
}

Json weight_json(const LayerConfig& layer) {
  Json json = Json::object();
  json["num_bits"] = layer.weight.num_bits;
  json["wts_algo"] = layer.nuq ? "nuq_quantize" : "arq_quantize";
  if (layer.nuq && layer.nuq->num_steps) json["num_steps"] = *layer.nuq->num_steps;
  if (layer.nuq && layer.nuq->num_of_iteration) {
    json["num_of_iteration"] = *layer.nuq->num_of_iteration;
  }
  if (!layer.channel_wise_inherited) json["channel_wise"] = layer.weight.channel_wise;
  return json;
}

Json layer_json(const LayerConfig& layer) {
  Json json = Json::object();
  json["quant_enable"] = layer.quant_enable;
  if (layer.dmq_balancer_param) json["dmq_balancer_param"] = *layer.dmq_balancer_param;
  json["activation_quant_params"] = activation_json(layer.activation);
  json["weight_quant_params"] = weight_json(layer);
  return json;
}

Json tensors_json(const std::vector<TensorQuantize>& tensors) {
  Json list = Json::array();
  for (const TensorQuantize& tensor : tensors) {
    Json json = Json::object();
    json["layer_name"] = tensor.layer_name;
    json["input_index"] = tensor.input_index;
    json["activation_quant_params"] = activation_json(tensor.activation);
    list.push_back(std::move(json));
  }
  return list;
}

Json globals_json(const QuantConfig& config) {
  Json json = Json::object();
  json["version"] = config.version;
  json["batch_num"] = config.batch_num;
  json["activation_offset"] = config.activation_offset;
  json["joint_quant"] = config.joint_quant;
  json["do_fusion"] = config.do_fusion;
  json["skip_fusion_layers"] = config.skip_fusion_layers;
  if (!config.tensor_quantize.empty())
    json["tensor_quantize"] = tensors_json(config.tensor_quantize);
  if (config.fakequant_precision_mode) {
    json["fakequant_precision_mode"] =
        *config.fakequant_precision_mode == FakequantPrecisionMode::kForceFp16Quant
            ? "FORCE_FP16_QUANT"
            : "DEFAULT";
  }
  return json;
}

}  // namespace

std::string write_json_config(const QuantConfig& config) {
  Json json = globals_json(config);
  auto& members = json.get_ref<Json::object_t&>();
  std::unordered_set<std::string_view> names;
  for (const auto& [name, layer] : config.layers) {
    if (is_reserved_key(name) || !names.insert(name).second) {
      raise(ErrorCode::kInvalidConfig,
            "layer \"{}\" cannot be written to a config: the key is {}; rename the node", name,
            is_reserved_key(name) ? "reserved" : "used by another layer");
    }
    members.emplace_back(name, layer_json(layer));
  }
  try {
    return json.dump(4) + "\n";
  } catch (const nlohmann::json::exception&) {
    raise(ErrorCode::kInvalidConfig, "a layer name is not valid UTF-8; rename the node");
  }
}

}  // namespace amct::config
