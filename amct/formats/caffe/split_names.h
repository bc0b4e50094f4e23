#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "amct/formats/caffe/definition.h"
#include "amct/formats/caffe/weights_file.h"

namespace amct::caffe {

/// Plans the layers that replace convolutions. Layer "c" becomes "c_0" and "c_1" with the blob
/// "c_0" between them, weights shared as "p" are shared as "p_0" and "p_1"; where a name is taken,
/// in either file, "_1", "_2"... is appended.
class SplitNames {
 public:
  SplitNames(const Definition& definition, const WeightsFile& weights);

  /// `first_has_height`: the first half takes the height of the kernel, the last its width.
  ConvolutionSplit plan(const LayerText& layer, const Convolution& settings, std::int64_t rank,
                        bool first_has_height);

 private:
  using Names = std::set<std::string, std::less<>>;
  struct Pair {
    std::string first, last;
  };
  static std::string take(Names& taken, const std::string& wanted);
  static const Pair& pair(std::map<std::string, Pair>& pairs, Names& taken,
                          const std::string& name);

  Names layers_, blobs_, params_;
  std::map<std::string, Pair> layer_pairs_, param_pairs_;
};

}  // namespace amct::caffe
