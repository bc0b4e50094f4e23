#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "amct/ir/graph.h"

namespace amct::ir {

struct PrintOptions {
  /// Tensors with more elements are printed as type, dims and a hash; such a text parses to a model
  /// with pseudo-random data of that type in their place.
  std::int64_t max_elements = 256;

  /// Every bit of the model: parse_text(print(model, everything())) equals the model.
  static PrintOptions everything() { return {std::numeric_limits<std::int64_t>::max()}; }
};

/// The model as text: readable, stable, and accepted by parse_text (grammar: docs/ir_text.md).
std::string print(const Model& model, const PrintOptions& options = {});
std::string print(const Graph& graph, const PrintOptions& options = {});

/// Reads the text form; `name` stands for the text in messages. Nodes must stand after what they
/// read. Throws Error(kInvalidModel) "name:line:column: ...".
Model parse_text(std::string_view text, std::string_view name);

}  // namespace amct::ir
