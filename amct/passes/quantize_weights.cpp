#include "amct/passes/quantize_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/passes/eligibility.h"
#include "amct/quant/arq.h"
#include "amct/quant/factor.h"

namespace amct::passes {
namespace {

using ir::LayerKind;
using ir::LayerView;

/// Half of int32, so that the sum of bias, products and offset term has room too.
constexpr double kMaxQuantizedBias = 1 << 30;
/// Grid of the bias of a channel that has no weights to tell a scale.
constexpr double kBiasSteps = 1 << 20;

quant::WeightLayout layout_of(const LayerView& view, bool per_channel) {
  const ir::Tensor& weight = *view.weight->constant();
  const auto elements = static_cast<std::size_t>(weight.size());
  if (!per_channel) return {1, 1, 1, elements};
  const auto channels = static_cast<std::size_t>(weight.dims()[view.output_channel_axis]);
  if (view.kind == LayerKind::kConv) return {1, 1, channels, elements / channels};
  const auto groups = static_cast<std::size_t>(view.groups);
  const auto inputs = static_cast<std::size_t>(weight.dims()[0]) / groups;
  return {groups, inputs, channels, elements / (groups * inputs * channels)};
}

const ir::Tensor* bias_of(const LayerView& view) {
  if (view.bias != nullptr) return view.bias->constant();
  if (const ir::Node* add = find_bias_add(view)) return bias_of_add(*add)->constant();
  return nullptr;
}

/// Largest |bias| per weight scale.
std::vector<double> bias_peaks(std::span<const float> bias, std::size_t scales) {
  std::vector<double> peaks(scales, 0.0);
  for (std::size_t c = 0; c < bias.size(); ++c) {
    double& peak = peaks[scales == 1 ? 0 : c];
    peak = std::max(peak, std::abs(static_cast<double>(bias[c])));
  }
  return peaks;
}

/// Scales of channels whose weights all become zero: the largest of the others, or, when there is
/// none, one that gives the bias a fine grid.
void replace_empty_scales(std::vector<float>& scales, const std::vector<bool>& empty,
                          const std::vector<double>& peaks, float activation_scale) {
  float largest = 0.0F;
  for (std::size_t c = 0; c < scales.size(); ++c)
    if (!empty[c]) largest = std::max(largest, scales[c]);
  for (std::size_t c = 0; c < scales.size(); ++c) {
    if (!empty[c]) continue;
    if (largest > 0.0F) {
      scales[c] = largest;
    } else if (peaks[c] > 0.0) {
      const double fine = peaks[c] / (static_cast<double>(activation_scale) * kBiasSteps);
      scales[c] = std::max(static_cast<float>(fine), quant::kMinScale);
    }
  }
}

/// Channels (of the weight's scales) all of whose quantized weights are zero.
std::vector<bool> empty_channels(std::span<const std::int8_t> weight,
                                 const quant::WeightLayout& layout) {
  std::vector<bool> empty(layout.output_channels(), true);
  std::size_t i = 0;
  for (std::size_t g = 0; g < layout.groups; ++g)
    for (std::size_t b = 0; b < layout.before; ++b)
      for (std::size_t c = 0; c < layout.channels; ++c)
        for (std::size_t k = 0; k < layout.inner; ++k, ++i)
          if (weight[i] != 0) empty[g * layout.channels + c] = false;
  return empty;
}

std::vector<std::int64_t> raise_for_bias(std::vector<float>& scales,
                                         const std::vector<double>& peaks, float activation_scale) {
  std::vector<std::int64_t> raised;
  for (std::size_t c = 0; c < scales.size(); ++c) {
    const double step = static_cast<double>(activation_scale) * static_cast<double>(scales[c]);
    if (peaks[c] <= kMaxQuantizedBias * step) continue;
    const double needed = peaks[c] / (kMaxQuantizedBias * static_cast<double>(activation_scale));
    scales[c] = std::nextafter(static_cast<float>(needed), std::numeric_limits<float>::max());
    raised.push_back(static_cast<std::int64_t>(c));
  }
  return raised;
}

void check_scales(const std::vector<float>& scales, std::string_view whose) {
  for (const float scale : scales)
    if (!(scale >= quant::kMinScale && scale <= quant::kMaxScale))
      raise(ErrorCode::kUnsupported, "{} weight scale {} is outside {} to {}", whose, scale,
            quant::kMinScale, quant::kMaxScale);
}

ir::Tensor quantize_bias(const ir::Tensor& bias, const LayerPlan& plan) {
  ir::Tensor result = ir::Tensor::zeros(ir::DataType::kInt32, {bias.size()});
  const std::span<std::int32_t> out = result.mutable_values<std::int32_t>();
  const std::span<const float> values = bias.values<float>();
  for (std::size_t c = 0; c < values.size(); ++c) {
    const float scale = plan.weight_scales[plan.weight_scales.size() == 1 ? 0 : c];
    const double step = static_cast<double>(plan.activation.scale) * static_cast<double>(scale);
    out[c] = static_cast<std::int32_t>(std::nearbyint(static_cast<double>(values[c]) / step));
  }
  return result;
}

bool has_channels(const LayerView& view) {
  return view.kind == LayerKind::kConv || view.kind == LayerKind::kConvTranspose;
}

/// ARQ's scales; those of channels that become all zero are replaced.
std::vector<float> search_scales(const LayerView& view, const quant::WeightLayout& layout, int bits,
                                 const std::vector<double>& peaks, float activation_scale) {
  const std::span<const float> weight = view.weight->constant()->values<float>();
  std::vector<float> scales = quant::arq_scales(weight, layout, bits);
  std::vector<std::int8_t> quantized(weight.size());
  quant::quantize_weight(weight, layout, scales, bits, quantized);
  replace_empty_scales(scales, empty_channels(quantized, layout), peaks, activation_scale);
  return scales;
}

std::span<const float> values_of(const ir::Tensor* bias) {
  return bias != nullptr ? bias->values<float>() : std::span<const float>{};
}

void plan_weight(LayerPlan& plan, const LayerView& view, const ir::Tensor* bias,
                 const LayerRequest& request) {
  const bool per_channel =
      has_channels(view) && (request.weight_scales.empty() ? request.weight.channel_wise
                                                           : request.weight_scales.size() > 1);
  const quant::WeightLayout layout = layout_of(view, per_channel);
  if (!std::ranges::all_of(values_of(bias), [](float value) { return std::isfinite(value); }))
    raise(ErrorCode::kUnsupported, "its bias holds NaN or infinity");

  const auto peaks = bias_peaks(values_of(bias), layout.output_channels());
  if (!request.weight_scales.empty()) {
    if (request.weight_scales.size() != layout.output_channels())
      raise(ErrorCode::kUnsupported, "the record holds {} weight scales; expected 1{}",
            request.weight_scales.size(),
            has_channels(view) ? fmt::format(" or {}", view.output_channels) : "");
    check_scales(request.weight_scales, "the record's");
    plan.weight_scales = request.weight_scales;
  } else {
    plan.weight_scales =
        search_scales(view, layout, plan.weight_bits, peaks, plan.activation.scale);
  }
  plan.raised_channels = raise_for_bias(plan.weight_scales, peaks, plan.activation.scale);
  check_scales(plan.weight_scales, "large biases need");
  ir::Tensor quantized = ir::Tensor::zeros(ir::DataType::kInt8, view.weight->constant()->dims());
  quant::quantize_weight(view.weight->constant()->values<float>(), layout, plan.weight_scales,
                         plan.weight_bits, quantized.mutable_values<std::int8_t>());
  plan.weight = std::move(quantized);
  if (bias != nullptr) plan.bias = quantize_bias(*bias, plan);
}

void check_activation(const std::string& name, const QuantFactor& factor, int bits) {
  if (bits != 8 && bits != 16)
    raise(ErrorCode::kInvalidConfig,
          "layer '{}': num_bits of the activation is {}, expected 8 or 16", name, bits);
  if (!quant::is_legal(factor, bits))
    raise(ErrorCode::kUnsupported,
          "its activation has scale {} and offset {}; the device takes scales from {} to {} and "
          "offsets that fit {} bits",
          factor.scale, factor.offset, quant::kMinScale, quant::kMaxScale, bits);
}

/// The bias that becomes part of the layer; not that of an Add with a quantizer in front.
const ir::Tensor* own_bias(const LayerView& view, const std::vector<InputPlan>& inputs) {
  const ir::Node* add = view.bias != nullptr ? nullptr : find_bias_add(view);
  const bool apart =
      add != nullptr && std::ranges::find(inputs, add->name, &InputPlan::node) != inputs.end();
  return apart ? nullptr : bias_of(view);
}

LayerPlan plan_layer(const LayerView& view, const ir::Tensor* bias, const LayerRequest& request) {
  LayerPlan plan;
  plan.layer = request.layer;
  plan.kind = view.kind;
  plan.activation = request.factor;
  plan.activation_bits = request.activation.num_bits;
  plan.weight_bits = request.weight.num_bits;
  check_activation(plan.layer, plan.activation, plan.activation_bits);
  if (view.kind == LayerKind::kAveragePool)
    plan.weight_scales = {1.0F};
  else
    plan_weight(plan, view, bias, request);
  if (!plan.raised_channels.empty())
    log_warning(
        "layer '{}': the bias of {} channel(s), first {}, would not fit int32; their weight scale "
        "was raised",
        plan.layer, plan.raised_channels.size(), plan.raised_channels.front());
  return plan;
}

InputPlan plan_input(const ir::Model& model, const InputRequest& request) {
  if (const std::string reason = input_reason(model, request.node, request.input_index);
      !reason.empty())
    raise(ErrorCode::kUnsupported, "{}", reason);
  check_activation(request.key(), request.factor, request.activation.num_bits);
  return {request.node, request.input_index, request.factor, request.activation.num_bits};
}

/// Adds what `plan_one` returns, or the reason why not.
template <typename Plan, typename PlanOne>
void plan_or_skip(std::vector<Plan>& plans, std::vector<SkippedLayer>& skipped,
                  const std::string& name, const std::string& op_type, const PlanOne& plan_one) {
  try {
    plans.push_back(plan_one());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidConfig) throw;
    skipped.push_back({name, op_type, error.what()});
  }
}

}  // namespace

std::vector<float> dequant_scales(const LayerPlan& plan) {
  std::vector<float> result;
  result.reserve(plan.weight_scales.size());
  for (const float scale : plan.weight_scales) result.push_back(plan.activation.scale * scale);
  return result;
}

std::vector<float> find_weight_scales(const ir::Model& model, const LayerRequest& request) {
  const ir::Node* node = model.graph->find_node(request.layer);
  const auto view = ir::view_onnx_layer(const_cast<ir::Node&>(*node));
  if (view->kind == LayerKind::kAveragePool) return {};
  const quant::WeightLayout layout =
      layout_of(*view, has_channels(*view) && request.weight.channel_wise);
  return search_scales(*view, layout, request.weight.num_bits,
                       bias_peaks(values_of(bias_of(*view)), layout.output_channels()), 1.0F);
}

QuantPlan make_plan(const ir::Model& model, std::span<const LayerRequest> layers,
                    std::span<const InputRequest> inputs) {
  std::map<std::string, const LayerRequest*, std::less<>> wanted;
  for (const LayerRequest& request : layers)
    if (!wanted.emplace(request.layer, &request).second)
      raise(ErrorCode::kInvalidConfig, "layer '{}' is requested twice", request.layer);
  QuantPlan plan;
  for (const InputRequest& request : inputs) {
    const ir::Node* node = model.graph->find_node(request.node);
    plan_or_skip(plan.inputs, plan.skipped, request.key(), node != nullptr ? node->op_type : "",
                 [&] { return plan_input(model, request); });
  }
  for (const Candidate& candidate : find_candidates(model)) {
    const auto found = wanted.find(candidate.layer);
    if (found == wanted.end()) continue;
    if (!candidate.reason.empty())
      raise(ErrorCode::kUnsupported, "{} '{}' cannot be quantized: {}", candidate.op_type,
            candidate.layer, candidate.reason);
    const LayerRequest& request = *found->second;
    wanted.erase(found);
    const ir::Node* node = model.graph->find_node(request.layer);
    plan_or_skip(plan.layers, plan.skipped, request.layer, candidate.op_type, [&] {
      const LayerView view = *ir::view_onnx_layer(const_cast<ir::Node&>(*node));
      return plan_layer(view, own_bias(view, plan.inputs), request);
    });
  }
  if (!wanted.empty())
    raise(ErrorCode::kInvalidModel, "the model has no quantizable layer '{}'",
          wanted.begin()->first);
  return plan;
}

}  // namespace amct::passes
