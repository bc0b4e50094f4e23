#pragma once

#include <span>

#include "amct/decompose/network.h"
#include "amct/formats/caffe/matching.h"

namespace amct::workflow {

/// Gives layers that have one weight - by the name of their `param`, or because one layer is listed
/// for each phase - the same weight_id, and a refusal where they would not stay alike. `layers` are
/// those of `matches`, in order.
void find_shared_weights(const caffe::Definition& definition, const caffe::WeightsFile& weights,
                         std::span<const caffe::MatchedConvolution> matches,
                         std::span<decompose::Layer> layers);

/// Layers of one weight_id are decomposed together or not at all: leaves alone those whose fellow
/// stayed as it is (by the user's choice, or for too small a gain).
void leave_partly_shared(std::span<const decompose::Layer> layers,
                         std::span<decompose::LayerResult> results);

}  // namespace amct::workflow
