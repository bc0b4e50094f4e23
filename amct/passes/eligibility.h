#pragma once

#include <vector>

#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Every layer of the model that could be quantized by its kind, in graph order, subgraphs
/// included, with the reason when something stands in the way (spec onnx_and_cli 9.2). Recurrent
/// layers are listed too. Declared shapes are used where the file has them and are not required.
std::vector<Candidate> find_candidates(const ir::Model& model);

}  // namespace amct::passes
