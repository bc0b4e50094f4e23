#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "amct/decompose/input_moments.h"
#include "amct/decompose/network.h"
#include "amct/ir/graph.h"

namespace amct::passes {

/// The convolutions of a model as decomposition sees them; layers[i] describes nodes[i].
struct ConvLayers {
  std::vector<decompose::Layer> layers;
  std::vector<ir::Node*> nodes;
};

/// All Conv nodes of the main graph and of its subgraphs, in order. `output_positions`: height
/// times width of the first output by its name; taken from declared shapes where it has no entry.
/// Layers that cannot be decomposed carry a refusal. Node names must be complete (pass name_nodes).
ConvLayers list_convolutions(ir::Model& model,
                             const std::map<std::string, std::int64_t>& output_positions = {});

/// Padding of a listed convolution for an input of that size.
decompose::Padding padding_of(const ir::Node& node, std::int64_t height, std::int64_t width);

/// Replaces each decomposed Conv `c` by two, "c.0" without bias and "c.1" (made unique), and
/// returns their names, empty for a layer left alone. Results are in the order of
/// `convolutions.layers`; their factors are moved out.
std::vector<std::vector<std::string>> decompose_convolutions(
    ir::Model& model, const ConvLayers& convolutions, std::span<decompose::LayerResult> results);

}  // namespace amct::passes
