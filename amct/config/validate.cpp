#include <fmt/format.h>

#include <unordered_map>

#include "amct/config/name_check.h"
#include "amct/config/simple_config.h"
#include "amct/config/violations.h"

namespace amct::config {
namespace {

void check_layer(const LayerInfo& layer, LayerConfig* config, Violations* violations) {
  if (config->channel_wise_inherited) {
    config->weight.channel_wise = layer.per_channel_allowed;
    config->channel_wise_inherited = false;
  } else if (config->weight.channel_wise && !layer.per_channel_allowed) {
    violations->add(
        layer.name + ".weight_quant_params.channel_wise",
        "found true for a layer of type {}, which has one factor for all of its weight; "
        "expected false",
        layer.op_type);
  }
  if (config->weight.num_bits != 8 && !is_conv_2d(layer)) {
    violations->add(layer.name + ".weight_quant_params.num_bits",
                    "found {} for a layer of type {}, expected 8; 6 and 7 are for Conv with a 4-D "
                    "weight",
                    config->weight.num_bits, layer.op_type);
  }
}

}  // namespace

void validate(QuantConfig& config, const ModelInfo& model) {
  Violations violations("the quantization config, applied to the model,");
  NameCheck names(model, &violations);
  for (auto& [name, layer_config] : config.layers) {
    if (const LayerInfo* layer = names.layer(name, name)) {
      check_layer(*layer, &layer_config, &violations);
    }
  }
  for (std::size_t i = 0; i < config.skip_fusion_layers.size(); ++i) {
    names.node(fmt::format("skip_fusion_layers[{}]", i), config.skip_fusion_layers[i]);
  }
  names.tensors(config.tensor_quantize);
  violations.throw_if_any();
}

}  // namespace amct::config
