#pragma once

// Private to this folder.
#include <utility>

#include "amct/formats/caffe/schema.h"
#include "amct/formats/caffe/weights_file.h"

namespace amct::caffe {

/// The two layers that replace one, of either format. `layer` has its blobs; they are taken.
std::pair<schema::Layer, schema::Layer> split_layer(schema::Layer layer, const WeightsSplit& split);
std::pair<schema::V1Layer, schema::V1Layer> split_layer(schema::V1Layer layer,
                                                        const WeightsSplit& split);

}  // namespace amct::caffe
