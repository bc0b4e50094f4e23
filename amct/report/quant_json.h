#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace amct::report {

/// A node of the quantized models and the nodes of the original model that it stands for.
struct NodeMapping {
  std::string quantized_node;
  std::vector<std::string> original_nodes;
};

/// The quantization operators that were put around one layer, and its factors.
struct LayerQuantization {
  std::string layer;
  std::string op_type;
  std::vector<std::string> inserted_nodes;
  float scale_d = 1.0F;
  std::int32_t offset_d = 0;
  std::string act_type;
  std::string wts_type;  // empty: no weight
};

struct QuantMapping {
  std::vector<NodeMapping> nodes;
  std::vector<LayerQuantization> layers;
};

/// Content of <prefix>_quant.json (docs/quant_json.md). Floats read back exactly.
std::string write_quant_json(const QuantMapping& mapping);

}  // namespace amct::report
