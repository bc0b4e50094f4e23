#pragma once

#include <map>
#include <string>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"
#include "amct/report/run_report.h"
#include "amct/workflow/activation_statistics.h"

namespace amct::workflow {

constexpr int kReportHistogramBins = 96;

/// One entry per candidate, in graph order; without the comparison against the float model.
/// `statistics_of_layer` holds what was observed of each calibrated layer's activation, by layer.
std::vector<report::LayerReport> describe_layers(
    const ir::Model& prepared, const std::vector<passes::Candidate>& candidates,
    const passes::QuantPlan& plan, const std::vector<passes::SkippedLayer>& skipped,
    const std::map<std::string, const TensorStatistics*>& statistics_of_layer);

}  // namespace amct::workflow
