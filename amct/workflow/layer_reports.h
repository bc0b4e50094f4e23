#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"
#include "amct/report/run_report.h"
#include "amct/workflow/activation_statistics.h"
#include "amct/workflow/quant_request.h"

namespace amct::workflow {

constexpr int kReportHistogramBins = 96;

/// What a report says of a run before it begins.
report::RunReport start_report(const std::filesystem::path& model, const std::string& save_path);

/// One entry per candidate, in graph order, and one per single input: what is to be quantized, and
/// what not, with the reason. `more_skipped`: found out later.
std::vector<report::LayerReport> describe_request(
    const QuantRequest& request, const std::vector<passes::SkippedLayer>& more_skipped = {});

/// The same with the numbers of the plan; without the comparison against the float model.
/// `statistics_of` holds what was observed of each calibrated activation, by record key.
std::vector<report::LayerReport> describe_layers(
    const ir::Model& prepared, const QuantRequest& request, const passes::QuantPlan& plan,
    const std::map<std::string, const TensorStatistics*>& statistics_of);

}  // namespace amct::workflow
