#include "amct/workflow/caffe_sharing.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace amct::workflow {
namespace {

using decompose::LayerResult;
using Group = std::vector<std::size_t>;

std::map<std::string, Group> groups_of(std::span<const decompose::Layer> layers) {
  std::map<std::string, Group> groups;
  for (std::size_t i = 0; i < layers.size(); ++i) groups[layers[i].weight_id].push_back(i);
  return groups;
}

std::string weight_id(const caffe::LayerText& layer) {
  const bool named = !layer.param_names.empty() && !layer.param_names[0].empty();
  return named ? "param " + layer.param_names[0] : "layer " + layer.name;
}

/// The first layer that uses a parameter otherwise than as the weights of a convolution.
const caffe::LayerText* other_user(const caffe::Definition& definition, const std::string& param) {
  for (const caffe::LayerText& layer : definition.layers())
    for (std::size_t i = 0; i < layer.param_names.size(); ++i)
      if (layer.param_names[i] == param && (i > 0 || !layer.is_convolution())) return &layer;
  return nullptr;
}

bool same_weights(const caffe::WeightsFile& weights, const caffe::MatchedConvolution& a,
                  const caffe::MatchedConvolution& b) {
  return a.weights_layer == b.weights_layer ||
         (a.weight.dims == b.weight.dims && a.weight.type == b.weight.type &&
          weights.read_blob(a.weights_layer, 0) == weights.read_blob(b.weights_layer, 0));
}

std::string why_not(const decompose::Layer& layer) {
  return layer.refusal.empty() ? decompose::choose_mode(layer.shape).reason : layer.refusal;
}

void refuse_all(const Group& group, std::span<decompose::Layer> layers, const std::string& reason) {
  for (const std::size_t i : group)
    if (layers[i].refusal.empty()) layers[i].refusal = reason;
}

void check_group(const caffe::WeightsFile& weights,
                 std::span<const caffe::MatchedConvolution> matches, const Group& group,
                 std::span<decompose::Layer> layers) {
  for (const std::size_t i : group) {
    const std::string reason = why_not(layers[i]);
    if (reason.empty()) continue;
    refuse_all(group, layers,
               fmt::format("its weights are shared with layer '{}', which stays: {}",
                           layers[i].name, reason));
    return;
  }
  for (const std::size_t i : group)
    if (!same_weights(weights, matches[group[0]], matches[i])) {
      refuse_all(group, layers,
                 fmt::format("its weights are shared by the layers '{}' and '{}', but the weights "
                             "file holds different ones for them",
                             layers[group[0]].name, layers[i].name));
      return;
    }
}

}  // namespace

void find_shared_weights(const caffe::Definition& definition, const caffe::WeightsFile& weights,
                         std::span<const caffe::MatchedConvolution> matches,
                         std::span<decompose::Layer> layers) {
  std::map<std::string, Group> by_name;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const caffe::LayerText& text = definition.layers()[matches[i].layer];
    layers[i].weight_id = weight_id(text);
    by_name[text.name].push_back(i);
    if (text.param_names.empty() || text.param_names[0].empty() || !layers[i].refusal.empty())
      continue;
    if (const caffe::LayerText* other = other_user(definition, text.param_names[0]))
      layers[i].refusal = fmt::format("its weights are shared as '{}' with layer '{}' ({})",
                                      text.param_names[0], other->name, other->type);
  }
  for (const auto& [name, group] : by_name)
    for (const std::size_t i : group)
      if (layers[i].weight_id != layers[group[0]].weight_id)
        refuse_all(group, layers, "it is listed twice, with differently named parameters");
  for (const auto& [id, group] : groups_of(layers))
    if (group.size() > 1) check_group(weights, matches, group, layers);
}

void leave_partly_shared(std::span<const decompose::Layer> layers, std::span<LayerResult> results) {
  for (const auto& [id, group] : groups_of(layers))
    for (const std::size_t i : group) {
      if (results[i].mode != decompose::Mode::kUnchange) continue;
      const std::string reason =
          fmt::format("its weights are shared with layer '{}', which stays: {}", results[i].name,
                      results[i].reason);
      for (const std::size_t k : group) {
        LayerResult& other = results[k];
        if (other.mode == decompose::Mode::kUnchange) continue;
        LayerResult alone;
        alone.name = other.name;
        alone.reason = reason;
        alone.full_rank = other.full_rank;
        alone.before = alone.after = other.before;
        other = std::move(alone);
      }
      break;
    }
}

}  // namespace amct::workflow
