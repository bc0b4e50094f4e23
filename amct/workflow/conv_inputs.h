#pragma once

#include <cstddef>

#include "amct/passes/decompose_conv.h"
#include "amct/runtime/data_source.h"
#include "amct/runtime/executor.h"
#include "amct/workflow/batch_progress.h"

namespace amct::workflow {

/// Runs the first `batch_num` batches (0: all) and gives each layer that can be decomposed the
/// second moments of its inputs. Convolutions in subgraphs get none.
void observe_inputs(const ir::Model& model, passes::ConvLayers& convolutions,
                    runtime::DataSource& data, std::size_t batch_num,
                    const runtime::ExecutorOptions& executor, const BatchProgress& progress);

}  // namespace amct::workflow
