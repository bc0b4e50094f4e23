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
  if (!config.tensor_quantize.empty()) refuse("tensor_quantize");
  if (config.fakequant_precision_mode) refuse("fakequant_precision_mode");
  for (const auto& [layer, settings] : config.layers) {
    if (settings.dmq_balancer_param) refuse(layer + ".dmq_balancer_param");
    if (settings.nuq) refuse(layer + ".weight_quant_params.wts_algo");
  }
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
  return request;
}

void apply_statistics(QuantRequest& request, const CollectedStatistics& statistics) {
  std::vector<passes::LayerRequest> usable;
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    passes::LayerRequest& layer = request.layers[i];
    const quant::ActivationResult& result = statistics.tensors[i].result;
    if (result.ok()) {
      layer.factor = result.factor;
      usable.push_back(std::move(layer));
      continue;
    }
    const auto candidate =
        std::ranges::find(request.candidates, layer.layer, &passes::Candidate::layer);
    std::string reason =
        fmt::format("its input '{}': {}", request.tensors[i].name, result.reason());
    log_warning("layer '{}' stays in float: {}", layer.layer, reason);
    request.skipped.push_back({layer.layer, candidate->op_type, std::move(reason)});
  }
  request.layers = std::move(usable);
}

void apply_factors(passes::LayerRequest& layer, const config::LayerRecord& entry) {
  layer.factor = {*entry.scale_d, entry.offset_d.value_or(0)};
  layer.weight_scales = entry.scale_w;
  if (entry.act_type) layer.activation.num_bits = *entry.act_type == "INT16" ? 16 : 8;
}

config::LayerRecord describe_record(int activation_bits) {
  config::LayerRecord entry;
  entry.skip_fusion = true;
  entry.op_data_type = "FLOAT32";
  entry.act_type = activation_bits == 16 ? "INT16" : "INT8";
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
  return record;
}

}  // namespace amct::workflow
