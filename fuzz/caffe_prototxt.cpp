// Network definitions: hostile text gives an Error; what is accepted is written back as it was, and
// with its convolutions split it is sound again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "amct/base/error.h"
#include "amct/formats/caffe/definition.h"
#include "amct/formats/caffe/spatial_shapes.h"
#include "amct/formats/caffe/split_names.h"

namespace {

using amct::caffe::Definition;

/// Splits every convolution that is sound; returns how many.
std::map<std::size_t, amct::caffe::ConvolutionSplit> plan(const Definition& definition) {
  std::map<std::size_t, amct::caffe::ConvolutionSplit> splits;
  const std::string no_weights("\xa2\x06\x00", 3);  // one empty layer
  amct::caffe::SplitNames names(definition, amct::caffe::WeightsFile::parse(no_weights, "none"));
  for (std::size_t i = 0; i < definition.layers().size(); ++i) {
    const amct::caffe::LayerText& layer = definition.layers()[i];
    if (!layer.is_convolution()) continue;
    try {
      const amct::caffe::Convolution settings = definition.convolution(layer);
      if (settings.refusal.empty()) splits[i] = names.plan(layer, settings, 3, i % 2 == 0);
    } catch (const amct::Error&) {
      continue;
    }
  }
  return splits;
}

void check_split(const Definition& definition) {
  const auto splits = plan(definition);
  const Definition again = Definition::parse(definition.split(splits), "split");
  if (again.layers().size() != definition.layers().size() + splits.size()) std::abort();
  for (std::size_t i = 0, k = 0; i < definition.layers().size(); ++i, ++k) {
    const auto split = splits.find(i);
    if (split == splits.end()) continue;
    const auto& first = again.layers()[k];
    const auto& last = again.layers()[++k];
    if (first.name != split->second.first.name || last.name != split->second.last.name ||
        first.tops != last.bottoms || last.tops != definition.layers()[i].tops ||
        again.convolution(first).num_output != 3 || again.convolution(first).has_bias ||
        again.convolution(last).window.kernel_h != split->second.last.window.kernel_h)
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::optional<Definition> definition;
  try {
    definition = Definition::parse(text, "fuzz");
  } catch (const amct::Error&) {
    return 0;
  }
  if (definition->split({}) != text) std::abort();
  check_split(*definition);
  try {
    amct::caffe::output_positions(*definition);
  } catch (const amct::Error&) {
    return 0;
  }
  return 0;
}
