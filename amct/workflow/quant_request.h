#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "amct/config/quant_config.h"
#include "amct/config/record.h"
#include "amct/config/simple_config.h"
#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"
#include "amct/workflow/activation_statistics.h"

namespace amct::workflow {

/// What is to be done with each layer that could be quantized by its kind.
struct QuantRequest {
  config::QuantConfig config;
  std::vector<passes::Candidate> candidates;  // of the prepared model, in graph order
  /// Layers to calibrate; `factor` is still open. Each reads the tensor of the same index.
  std::vector<passes::LayerRequest> layers;
  std::vector<ObservedTensor> tensors;
  std::vector<passes::SkippedLayer> skipped;
};

/// Applies the simple config to the layers of the prepared model; `original` is the model as the
/// user knows it, before fusion. Throws Error(kInvalidConfig) for names that the model does not
/// have and options that a layer cannot take, and Error(kUnsupported) for features that this
/// version lacks.
QuantRequest make_request(const ir::Model& prepared, const ir::Model& original,
                          const config::SimpleConfig& simple);

/// The same for a JSON config, which is checked against the model first.
QuantRequest make_request(const ir::Model& prepared, const ir::Model& original,
                          config::QuantConfig config);

/// The same for a config that has been checked.
QuantRequest make_checked_request(const ir::Model& prepared, config::QuantConfig config);

/// Puts the found factors into the layers; what has none moves to `skipped` with the reason.
void apply_statistics(QuantRequest& request, const CollectedStatistics& statistics);

/// Puts recorded factors into a layer; `entry` has scale_d.
void apply_factors(passes::LayerRequest& layer, const config::LayerRecord& entry);

/// A record entry without factors.
config::LayerRecord describe_record(int activation_bits);

/// The record file's content for the planned layers (spec onnx_and_cli 18).
config::Record make_record(const passes::QuantPlan& plan);

}  // namespace amct::workflow
