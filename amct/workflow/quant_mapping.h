#pragma once

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"
#include "amct/report/quant_json.h"

namespace amct::workflow {

/// Which nodes of the original model stand behind each node of the deploy model. A node that
/// preparation removed counts to the node it was folded into.
report::QuantMapping map_nodes(const ir::Model& original, const ir::Model& deploy,
                               const passes::QuantPlan& plan);

}  // namespace amct::workflow
