#pragma once

#include <string>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Adds, beside each layer of the plan, the same layer in its quantized form, which reads the same
/// float data, and an operator Compare in the calibration domain that takes both results
/// (attributes comparison_id and object_layer). The model computes what it did.
void insert_comparisons(ir::Model& model, const QuantPlan& plan, const std::string& id);

}  // namespace amct::passes
