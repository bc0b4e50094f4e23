#include "amct/workflow/quant_request.h"

#include <algorithm>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/passes/eligibility.h"

namespace amct::workflow {
namespace {

config::ModelInfo describe_model(const std::vector<passes::Candidate>& candidates,
                                 const ir::Model& original) {
  config::ModelInfo info;
  for (const passes::Candidate& candidate : candidates)
    if (candidate.reason.empty())
      info.layers.push_back({candidate.layer, candidate.op_type, candidate.weight_rank,
                             candidate.per_channel_allowed});
  original.graph->for_each_graph([&info](const ir::Graph& graph) {
    for (const auto& node : graph.nodes())
      info.nodes.push_back({node->name, node->op_type, static_cast<int>(node->inputs().size())});
  });
  return info;
}

[[noreturn]] void refuse(const std::string& field) {
  raise(ErrorCode::kUnsupported,
        "config field '{}': this version does not have this feature; remove the field", field);
}

void refuse_missing_features(const config::QuantConfig& config) {
  if (config.joint_quant) refuse("joint_quant");
  if (config.fakequant_precision_mode) refuse("fakequant_precision_mode");
  for (const auto& [layer, settings] : config.layers) {
    if (settings.dmq_balancer_param) refuse(layer + ".dmq_balancer_param");
    if (settings.nuq) refuse(layer + ".weight_quant_params.wts_algo");
  }
}

/// One tensor has one quantizer: that of a quantized layer which reads it, when there is one.
ActivationOptions options_of_tensor(const QuantRequest& request, const std::string& tensor,
                                    const passes::InputRequest& input) {
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    if (request.tensors[i].name != tensor) continue;
    if (request.tensors[i].options != input.activation)
      log_warning(
          "tensor_quantize: '{}' reads '{}' like layer '{}', whose quantization parameters count",
          input.key(), tensor, request.layers[i].layer);
    return request.tensors[i].options;
  }
  return input.activation;
}

void request_input(QuantRequest& request, const ir::Model& prepared,
                   const config::TensorQuantize& wanted) {
  passes::InputRequest input{wanted.layer_name, wanted.input_index, wanted.activation, {}};
  const ir::Node* node = prepared.graph->find_node(input.node);
  std::string reason = passes::input_reason(prepared, input.node, input.input_index);
  if (!reason.empty()) {
    log_warning("tensor_quantize: '{}' stays in float: {}", input.key(), reason);
    request.skipped.push_back(
        {input.key(), node != nullptr ? node->op_type : "", std::move(reason)});
    return;
  }
  const std::string& tensor = node->input(input.input_index)->name();
  input.activation = options_of_tensor(request, tensor, input);
  request.tensors.push_back({tensor, input.activation});
  request.inputs.push_back(std::move(input));
}

}  // namespace

QuantRequest make_request(const ir::Model& prepared, const ir::Model& original,
                          const config::SimpleConfig& simple) {
  if (simple.nuq) refuse("nuq_config");
  return make_checked_request(
      prepared,
      config::resolve(simple, describe_model(passes::find_candidates(prepared), original)));
}

QuantRequest make_request(const ir::Model& prepared, const ir::Model& original,
                          config::QuantConfig config) {
  config::validate(config, describe_model(passes::find_candidates(prepared), original));
  return make_checked_request(prepared, std::move(config));
}

QuantRequest make_checked_request(const ir::Model& prepared, config::QuantConfig config) {
  refuse_missing_features(config);
  QuantRequest request;
  request.candidates = passes::find_candidates(prepared);
  request.config = std::move(config);
  for (const passes::Candidate& candidate : request.candidates) {
    const config::LayerConfig* settings = request.config.find_layer(candidate.layer);
    if (!candidate.reason.empty()) {
      request.skipped.push_back({candidate.layer, candidate.op_type, candidate.reason});
    } else if (settings == nullptr || !settings->quant_enable) {
      request.skipped.push_back({candidate.layer, candidate.op_type, "skipped by the config"});
    } else {
      request.layers.push_back({candidate.layer, settings->activation, settings->weight, {}, {}});
      request.tensors.push_back({candidate.activation, settings->activation});
    }
  }
  for (const config::TensorQuantize& wanted : request.config.tensor_quantize)
    request_input(request, prepared, wanted);
  return request;
}

std::vector<std::string> record_keys(const QuantRequest& request) {
  std::vector<std::string> keys;
  for (const passes::LayerRequest& layer : request.layers) keys.push_back(layer.layer);
  for (const passes::InputRequest& input : request.inputs) keys.push_back(input.key());
  return keys;
}

void apply_statistics(QuantRequest& request, const CollectedStatistics& statistics) {
  std::vector<passes::LayerRequest> layers;
  std::vector<passes::InputRequest> inputs;
  const std::vector<std::string> keys = record_keys(request);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const quant::ActivationResult& result = statistics.tensors[i].result;
    if (!result.ok()) {
      std::string reason =
          fmt::format("its input '{}': {}", request.tensors[i].name, result.reason());
      log_warning("layer '{}' stays in float: {}", keys[i], reason);
      const auto candidate =
          std::ranges::find(request.candidates, keys[i], &passes::Candidate::layer);
      request.skipped.push_back({keys[i],
                                 candidate != request.candidates.end() ? candidate->op_type : "",
                                 std::move(reason)});
    } else if (i < request.layers.size()) {
      layers.push_back(std::move(request.layers[i]));
      layers.back().factor = result.factor;
    } else {
      inputs.push_back(std::move(request.inputs[i - request.layers.size()]));
      inputs.back().factor = result.factor;
    }
  }
  request.layers = std::move(layers);
  request.inputs = std::move(inputs);
}

void apply_factors(passes::LayerRequest& layer, const config::LayerRecord& entry) {
  layer.factor = {*entry.scale_d, entry.offset_d.value_or(0)};
  layer.weight_scales = entry.scale_w;
  if (entry.act_type) layer.activation.num_bits = *entry.act_type == "INT16" ? 16 : 8;
}

void apply_factors(passes::InputRequest& input, const config::LayerRecord& entry) {
  input.factor = {*entry.scale_d, entry.offset_d.value_or(0)};
  if (entry.act_type) input.activation.num_bits = *entry.act_type == "INT16" ? 16 : 8;
}

config::LayerRecord describe_record(int activation_bits) {
  config::LayerRecord entry;
  entry.skip_fusion = true;
  entry.op_data_type = "FLOAT32";
  entry.act_type = activation_bits == 16 ? "INT16" : "INT8";
  return entry;
}

config::LayerRecord describe_input_record(int activation_bits) {
  config::LayerRecord entry;
  entry.is_tensor_quantize = true;
  entry.op_data_type = "FLOAT32";
  if (activation_bits == 16) entry.act_type = "INT16";
  return entry;
}

config::Record make_record(const passes::QuantPlan& plan) {
  config::Record record;
  for (const passes::LayerPlan& layer : plan.layers) {
    config::LayerRecord entry = describe_record(layer.activation_bits);
    entry.scale_d = layer.activation.scale;
    entry.offset_d = layer.activation.offset;
    if (layer.weight) {
      entry.scale_w = layer.weight_scales;
      entry.offset_w.assign(layer.weight_scales.size(), 0);
      entry.wts_type = "INT8";
    }
    record.entries.emplace_back(layer.layer, std::move(entry));
  }
  for (const passes::InputPlan& input : plan.inputs) {
    config::LayerRecord entry = describe_input_record(input.bits);
    entry.scale_d = input.factor.scale;
    entry.offset_d = input.factor.offset;
    record.entries.emplace_back(input.key(), std::move(entry));
  }
  return record;
}

}  // namespace amct::workflow
