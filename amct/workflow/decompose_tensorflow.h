#pragma once

#include <string>
#include <vector>

#include "amct/decompose/network.h"

namespace amct::workflow {

struct DecomposeTensorflowResult {
  /// Names of the new convolutions, two for each decomposed one, in the graph's order.
  std::vector<std::string> new_convolutions;
  /// One entry for each Conv2D and DepthwiseConv2dNative of the graph, in its order; the factors
  /// are left out.
  std::vector<decompose::LayerResult> layers;
  /// Paths of the files written.
  std::vector<std::string> files;
};

/// Decomposes the convolutions of a TensorFlow model on files alone: `meta_path` is a .meta,
/// `ckpt_path` the prefix of its V2 checkpoint. Writes <save_path>.meta, .index,
/// .data-00000-of-00001, .pkl (what decompose_graph of amct_tensorflow does to the training graph),
/// and the file "checkpoint" beside them; all appear, or none. A dry run does everything but
/// writing. Throws Error(kUsage | kIo | kInvalidModel | kUnsupported).
DecomposeTensorflowResult decompose_tensorflow(const std::string& meta_path,
                                               const std::string& ckpt_path,
                                               const std::string& save_path,
                                               const decompose::Options& options = {},
                                               bool dry_run = false,
                                               const decompose::Progress& progress = {});

}  // namespace amct::workflow
