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
  /// Layers and single inputs to calibrate; `factor` is still open.
  std::vector<passes::LayerRequest> layers;
  std::vector<passes::InputRequest> inputs;
  /// Outputs of the graph that stay in integers; their factors are known.
  std::vector<passes::OutputPlan> outputs;
  /// What they read: first one for each layer, then one for each input.
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

/// Names of record entries, one for each of request.tensors.
std::vector<std::string> record_keys(const QuantRequest& request);

/// Puts the found factors into layers and inputs; what has none moves to `skipped` with the reason.
void apply_statistics(QuantRequest& request, const CollectedStatistics& statistics);

/// Puts recorded factors into a layer or input; `entry` has scale_d.
void apply_factors(passes::LayerRequest& layer, const config::LayerRecord& entry);
void apply_factors(passes::InputRequest& input, const config::LayerRecord& entry);

/// Record entries without factors: of a layer, and of a single input.
config::LayerRecord describe_record(int activation_bits);
config::LayerRecord describe_input_record(int activation_bits);

/// The record file's content for the planned layers and inputs (spec onnx_and_cli 18).
config::Record make_record(const passes::QuantPlan& plan);

}  // namespace amct::workflow
