#pragma once

#include <filesystem>
#include <vector>

#include "amct/decompose/network.h"

namespace amct::workflow {

/// Decomposes the convolutions of a Caffe network (spec/caffe.md 12). Convolution "c" becomes "c_0"
/// and "c_1"; everything else, custom layers and unknown fields included, stays as it was. Both new
/// files appear, or none; an input is never overwritten. With `dry_run` nothing is written and the
/// new names may be empty. One result for each Convolution layer, in order, without factors, which
/// are in the file. Throws Error.
std::vector<decompose::LayerResult> decompose_caffe(const std::filesystem::path& model_file,
                                                    const std::filesystem::path& weights_file,
                                                    const std::filesystem::path& new_model_file,
                                                    const std::filesystem::path& new_weights_file,
                                                    const decompose::Options& options = {},
                                                    bool dry_run = false,
                                                    const decompose::Progress& progress = {});

}  // namespace amct::workflow
