#include <fmt/format.h>

#include "amct/base/log.h"
#include "amct/config/name_check.h"
#include "amct/config/simple_config.h"
#include "amct/config/violations.h"

namespace amct::config {
namespace {

void check_activation(const LayerInfo& layer, LayerConfig* config, Violations* violations) {
  if (config->activation.num_bits != 8 && !allows_int16(layer)) {
    violations->add(layer.name + ".activation_quant_params.num_bits",
                    "found {} for a layer of type {}, expected 8", config->activation.num_bits,
                    layer.op_type);
  }
  // No error, since it may be inherited from activation_offset.
  if (config->activation.asymmetric && !allows_asymmetric(layer)) {
    log_warning("layer \"{}\" has no constant weight and is quantized symmetrically", layer.name);
    config->activation.asymmetric = false;
  }
}

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
  check_activation(layer, config, violations);
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
