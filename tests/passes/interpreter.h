#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// A dense array in double precision.
struct Array {
  std::vector<std::int64_t> dims;
  std::vector<double> values;
};

/// Evaluates a graph by the definition of its operators, slowly, in double precision: the yardstick
/// for passes. Inputs get seeded numbers by their name and declared shape. Throws
/// std::runtime_error for operators it does not know.
std::vector<Array> interpret(const ir::Graph& graph, unsigned seed = 1);

/// Largest |a - b| / (1 + |b|) over all outputs; infinite when shapes differ.
double difference(const std::vector<Array>& a, const std::vector<Array>& b);

}  // namespace amct::passes
