#include "amct/workflow/layer_reports.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>

#include "amct/passes/eligibility.h"

namespace amct::workflow {
namespace {

report::ReportHistogram weight_histogram(std::span<const float> weight) {
  report::ReportHistogram histogram;
  const auto [low, high] = std::ranges::minmax(weight);
  histogram.min = low;
  histogram.max = high;
  histogram.bins.assign(kReportHistogramBins, 0);
  const float scale = high > low ? static_cast<float>(kReportHistogramBins) / (high - low) : 0.0F;
  for (const float value : weight) {
    const auto bin = static_cast<std::size_t>((value - low) * scale);
    ++histogram.bins[std::min<std::size_t>(bin, kReportHistogramBins - 1)];
  }
  return histogram;
}

void describe_activation(report::LayerReport& layer, const TensorStatistics& statistics) {
  layer.algorithm =
      std::holds_alternative<IfmrOptions>(statistics.tensor.options.algorithm) ? "IFMR" : "HFMG";
  const quant::ActivationResult& result = statistics.result;
  layer.observed_min = static_cast<double>(result.observed_min);
  layer.observed_max = static_cast<double>(result.observed_max);
  layer.non_finite_count = result.nonfinite_count;
  layer.clip_min = static_cast<double>(result.clip_min);
  layer.clip_max = static_cast<double>(result.clip_max);
  layer.activation_histogram = {statistics.histogram.counts,
                                static_cast<double>(statistics.histogram.min),
                                static_cast<double>(statistics.histogram.max)};
}

void describe_weight(report::LayerReport& layer, const passes::LayerPlan& plan,
                     const ir::LayerView& view) {
  layer.weight_bits = plan.weight_bits;
  layer.per_channel = plan.weight_scales.size() > 1;
  layer.weight_scale_min = static_cast<double>(std::ranges::min(plan.weight_scales));
  layer.weight_scale_max = static_cast<double>(std::ranges::max(plan.weight_scales));
  layer.raised_channels = plan.raised_channels;
  layer.weight_clip_min = -layer.weight_scale_max * (1 << (plan.weight_bits - 1));
  layer.weight_clip_max = layer.weight_scale_max * ((1 << (plan.weight_bits - 1)) - 1);
  layer.weight_histogram = weight_histogram(view.weight->constant()->values<float>());
  layer.parameter_bytes_after =
      plan.weight->bytes().size() + sizeof(std::uint64_t) * plan.weight_scales.size();
  if (plan.bias) layer.parameter_bytes_after += plan.bias->bytes().size();
}

std::uint64_t float_bytes(const ir::LayerView& view) {
  std::uint64_t bytes = 0;
  if (view.weight != nullptr && view.weight->constant() != nullptr)
    bytes += view.weight->constant()->bytes().size();
  if (view.bias != nullptr && view.bias->constant() != nullptr)
    bytes += view.bias->constant()->bytes().size();
  else if (const ir::Node* add = passes::find_bias_add(view))
    bytes += passes::bias_of_add(*add)->constant()->bytes().size();
  return bytes;
}

void describe_factor(report::LayerReport& layer, const QuantFactor& factor, int bits) {
  layer.quantized = true;
  layer.scale_d = static_cast<double>(factor.scale);
  layer.offset_d = factor.offset;
  layer.activation_bits = bits;
}

}  // namespace

report::RunReport start_report(const std::filesystem::path& model, const std::string& save_path) {
  report::RunReport report;
  report.model = model.string();
  report.prefix = save_path;
  report.tool_version = AMCT_VERSION;
  report.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  report.float_bytes = std::filesystem::file_size(model);
  return report;
}

std::vector<report::LayerReport> describe_request(
    const QuantRequest& request, const std::vector<passes::SkippedLayer>& more_skipped) {
  std::vector<report::LayerReport> layers;
  std::map<std::string, std::size_t> index_of;
  const auto add = [&](const std::string& name, const std::string& op_type) {
    if (!index_of.emplace(name, layers.size()).second) return;
    layers.emplace_back();
    layers.back().name = name;
    layers.back().op_type = op_type;
  };
  for (const passes::Candidate& candidate : request.candidates)
    add(candidate.layer, candidate.op_type);
  for (const passes::InputRequest& input : request.inputs) add(input.key(), "input");
  for (const auto* list : {&request.skipped, &more_skipped})
    for (const passes::SkippedLayer& skipped : *list) {
      add(skipped.layer, "input");
      layers[index_of[skipped.layer]].reason = skipped.reason;
    }
  for (report::LayerReport& layer : layers) layer.quantized = layer.reason.empty();
  return layers;
}

std::vector<report::LayerReport> describe_layers(
    const ir::Model& prepared, const QuantRequest& request, const passes::QuantPlan& plan,
    const std::map<std::string, const TensorStatistics*>& statistics_of) {
  std::map<std::string, const passes::LayerPlan*> layer_plans;
  for (const passes::LayerPlan& layer : plan.layers) layer_plans[layer.layer] = &layer;
  std::map<std::string, const passes::InputPlan*> input_plans;
  for (const passes::InputPlan& input : plan.inputs) input_plans[input.key()] = &input;

  std::vector<report::LayerReport> layers = describe_request(request, plan.skipped);
  for (report::LayerReport& layer : layers) {
    layer.quantized = false;
    if (const auto found = statistics_of.find(layer.name); found != statistics_of.end())
      describe_activation(layer, *found->second);
    if (const auto planned = layer_plans.find(layer.name); planned != layer_plans.end()) {
      const passes::LayerPlan& numbers = *planned->second;
      const ir::LayerView view = *ir::view_onnx_layer(*prepared.graph->find_node(layer.name));
      describe_factor(layer, numbers.activation, numbers.activation_bits);
      layer.parameter_bytes_before = float_bytes(view);
      if (numbers.weight) describe_weight(layer, numbers, view);
    }
    if (const auto planned = input_plans.find(layer.name); planned != input_plans.end()) {
      layer.op_type = prepared.graph->find_node(planned->second->node)->op_type;
      describe_factor(layer, planned->second->factor, planned->second->bits);
    }
  }
  return layers;
}

}  // namespace amct::workflow
