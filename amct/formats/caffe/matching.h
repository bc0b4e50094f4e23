#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "amct/formats/caffe/definition.h"
#include "amct/formats/caffe/weights_file.h"

namespace amct::caffe {

/// A convolution of the definition and where its weights are.
struct MatchedConvolution {
  std::size_t layer = 0;          // in Definition::layers()
  std::size_t weights_layer = 0;  // in WeightsFile
  Convolution settings;
  BlobInfo weight;
};

/// Finds the weights of every convolution by the layer's name. Throws Error(kInvalidModel) that
/// lists every layer whose weights are missing or have another shape than the definition says.
std::vector<MatchedConvolution> match_convolutions(const Definition& definition,
                                                   const WeightsFile& weights);

}  // namespace amct::caffe
