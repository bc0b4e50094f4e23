#include "amct/workflow/layer_reports.h"

#include <algorithm>

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

}  // namespace

std::vector<report::LayerReport> describe_layers(
    const ir::Model& prepared, const std::vector<passes::Candidate>& candidates,
    const passes::QuantPlan& plan, const std::vector<passes::SkippedLayer>& skipped,
    const std::map<std::string, const TensorStatistics*>& statistics_of_layer) {
  std::map<std::string, const passes::LayerPlan*> plans;
  std::map<std::string, std::string> reasons;
  for (const passes::LayerPlan& layer : plan.layers) plans[layer.layer] = &layer;
  for (const auto* list : {&skipped, &plan.skipped})
    for (const passes::SkippedLayer& layer : *list) reasons[layer.layer] = layer.reason;

  std::vector<report::LayerReport> layers;
  for (const passes::Candidate& candidate : candidates) {
    report::LayerReport layer;
    layer.name = candidate.layer;
    layer.op_type = candidate.op_type;
    if (const auto reason = reasons.find(candidate.layer); reason != reasons.end())
      layer.reason = reason->second;
    if (const auto found = statistics_of_layer.find(candidate.layer);
        found != statistics_of_layer.end())
      describe_activation(layer, *found->second);
    const auto planned = plans.find(candidate.layer);
    layer.quantized = planned != plans.end();
    if (layer.quantized) {
      const passes::LayerPlan& numbers = *planned->second;
      const ir::LayerView view = *ir::view_onnx_layer(*prepared.graph->find_node(candidate.layer));
      layer.scale_d = static_cast<double>(numbers.activation.scale);
      layer.offset_d = numbers.activation.offset;
      layer.activation_bits = numbers.activation_bits;
      layer.parameter_bytes_before = float_bytes(view);
      if (numbers.weight) describe_weight(layer, numbers, view);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace amct::workflow
