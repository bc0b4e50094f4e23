#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "amct/ir/graph.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// Every Conv, ConvTranspose, Gemm, MatMul, AveragePool, LSTM and GRU of the model, subgraphs
/// included, in graph order: quantizable, or with the reason why not (spec 9.2,
/// upstream_facts 1.12). Expects node names to be unique.
std::vector<Candidate> find_candidates(const ir::Model& model);

/// Why input `input_index` of a MaxPool or Add of the prepared model cannot be quantized on its
/// own; empty when it can. `node` may have been folded away.
std::string input_reason(const ir::Model& model, const std::string& node, std::size_t input_index);

/// Whether the node computes on integers in a form of other tools (dynamic quantization,
/// QLinear...) that the NPU's compiler does not read.
bool is_quantized_operator(const ir::Node& node);

/// The Add that adds a constant bias of one value per output channel to a MatMul's only use, or
/// null.
ir::Node* find_bias_add(const ir::LayerView& matmul);
/// That constant; `add` must come from find_bias_add.
ir::Value* bias_of_add(const ir::Node& add);

}  // namespace amct::passes
