#include "amct/formats/caffe/split_names.h"

namespace amct::caffe {
namespace {

Window height_of(const Window& window) {
  return {window.kernel_h, 1, window.stride_h, 1, window.pad_h, 0};
}
Window width_of(const Window& window) {
  return {1, window.kernel_w, 1, window.stride_w, 0, window.pad_w};
}

}  // namespace

SplitNames::SplitNames(const Definition& definition, const WeightsFile& weights) {
  for (const LayerText& layer : definition.layers()) {
    layers_.insert(layer.name);
    params_.insert(layer.param_names.begin(), layer.param_names.end());
    blobs_.insert(layer.tops.begin(), layer.tops.end());
    blobs_.insert(layer.bottoms.begin(), layer.bottoms.end());
  }
  for (const Value* input : all(definition.file().fields(), "input")) blobs_.insert(input->text);
  for (std::size_t i = 0; i < weights.layer_count(); ++i) layers_.insert(weights.layer_name(i));
}

std::string SplitNames::take(Names& taken, const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

const SplitNames::Pair& SplitNames::pair(std::map<std::string, Pair>& pairs, Names& taken,
                                         const std::string& name) {
  const auto [entry, inserted] = pairs.try_emplace(name);
  if (inserted) entry->second = {take(taken, name + "_0"), take(taken, name + "_1")};
  return entry->second;
}

ConvolutionSplit SplitNames::plan(const LayerText& layer, const Convolution& settings,
                                  std::int64_t rank, bool first_has_height) {
  ConvolutionSplit split;
  const Pair& names = pair(layer_pairs_, layers_, layer.name);
  split.first.name = names.first;
  split.last.name = names.last;
  split.first.num_output = rank;
  split.last.num_output = settings.num_output;
  const Window height = height_of(settings.window), width = width_of(settings.window);
  split.first.window = first_has_height ? height : width;
  split.last.window = first_has_height ? width : height;
  if (!layer.param_names.empty() && !layer.param_names[0].empty()) {
    const Pair& params = pair(param_pairs_, params_, layer.param_names[0]);
    split.first.param_name = params.first;
    split.last.param_name = params.last;
  }
  for (std::size_t i = 0; i < layer.tops.size(); ++i)
    split.middle.push_back(take(blobs_, layer.name + "_0"));
  return split;
}

}  // namespace amct::caffe
