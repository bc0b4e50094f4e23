#pragma once

#include "amct/config/model_info.h"

namespace amct::config {

/// A small model: three convolutions of different weight ranks, Gemm, two MatMul, and other nodes.
inline ModelInfo sample_model() {
  ModelInfo model;
  model.layers = {{"conv1", "Conv", 4, true},       {"conv1d", "Conv", 3, true},
                  {"up", "ConvTranspose", 4, true}, {"fc", "Gemm", 2, false},
                  {"proj", "MatMul", 2, false},     {"attn", "MatMul", 0, false}};
  model.nodes = {{"conv1", "Conv", 3},    {"conv1d", "Conv", 2}, {"up", "ConvTranspose", 2},
                 {"fc", "Gemm", 3},       {"proj", "MatMul", 2}, {"attn", "MatMul", 2},
                 {"pool1", "MaxPool", 1}, {"sum", "Add", 2},     {"relu1", "Relu", 1}};
  return model;
}

}  // namespace amct::config
