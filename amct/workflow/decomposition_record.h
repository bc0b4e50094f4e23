#pragma once

#include <string>

#include "amct/formats/tensorflow/meta_graph.h"

namespace amct::workflow {

/// Bytes of the .pkl file: a dictionary {"format", "version", "convolutions": {name: {...}}} of
/// built-in types, from which amct_tensorflow.tensor_decompose.decompose_graph repeats the split on
/// a live graph. docs/design/tensorflow_decomposition.md lists its fields.
std::string decomposition_record(const tensorflow::SplitResult& split);

}  // namespace amct::workflow
