#include "amct/formats/caffe/matching.h"

#include <fmt/ranges.h>

#include "amct/base/error.h"
#include "amct/ir/tensor.h"

namespace amct::caffe {
namespace {

constexpr std::size_t kMostListed = 20;

/// What differs between a convolution and its blobs; empty when they fit.
std::string difference(const Convolution& settings, const std::vector<BlobInfo>& blobs) {
  if (!settings.refusal.empty()) return {};
  const std::size_t wanted = settings.has_bias ? 2 : 1;
  if (blobs.size() != wanted)
    return fmt::format("expected {} blobs ({}), found {}", wanted,
                       settings.has_bias ? "weights and bias" : "weights, no bias", blobs.size());
  const std::vector<std::int64_t>& dims = blobs[0].dims;
  const Window& window = settings.window;
  if (dims.size() != 4 || dims[0] != settings.num_output || dims[2] != window.kernel_h ||
      dims[3] != window.kernel_w || dims[1] < 1)
    return fmt::format("expected weights of the shape [{}, input channels, {}, {}], found [{}]",
                       settings.num_output, window.kernel_h, window.kernel_w,
                       fmt::join(dims, ", "));
  if (settings.has_bias && ir::element_count(blobs[1].dims) != settings.num_output)
    return fmt::format("expected a bias of {} numbers, found the shape [{}]", settings.num_output,
                       fmt::join(blobs[1].dims, ", "));
  return {};
}

/// Fills in where the weights are; returns what is wrong with them.
std::string find_weights(const WeightsFile& weights, const std::string& name,
                         MatchedConvolution& match) {
  const std::vector<std::size_t> found = weights.find(name);
  if (found.empty()) return "the weights file has no layer of this name";
  if (found.size() > 1)
    return fmt::format("the weights file has {} layers of this name", found.size());
  match.weights_layer = found[0];
  const std::vector<BlobInfo> blobs = weights.blobs(found[0]);
  if (!blobs.empty()) match.weight = blobs[0];
  return difference(match.settings, blobs);
}

}  // namespace

std::vector<MatchedConvolution> match_convolutions(const Definition& definition,
                                                   const WeightsFile& weights) {
  std::vector<MatchedConvolution> matches;
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < definition.layers().size(); ++i) {
    const LayerText& layer = definition.layers()[i];
    if (!layer.is_convolution()) continue;
    MatchedConvolution match;
    match.layer = i;
    match.settings = definition.convolution(layer);
    const std::string problem = find_weights(weights, layer.name, match);
    if (!problem.empty()) problems.push_back(fmt::format("layer '{}': {}", layer.name, problem));
    matches.push_back(std::move(match));
  }
  if (problems.empty()) return matches;
  const std::size_t count = problems.size();
  if (count > kMostListed) {
    problems.resize(kMostListed);
    problems.push_back(fmt::format("and {} more", count - kMostListed));
  }
  raise(ErrorCode::kInvalidModel, "'{}' and '{}' do not belong together: {}",
        definition.file().name(), weights.name(), fmt::join(problems, "; "));
}

}  // namespace amct::caffe
