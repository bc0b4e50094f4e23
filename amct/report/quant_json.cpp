#include "amct/report/quant_json.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace amct::report {
namespace {

using Json = nlohmann::ordered_json;

/// The shortest decimal that reads back as the same float32.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

Json to_json(const LayerQuantization& layer) {
  Json entry{{"layer", layer.layer},
             {"op_type", layer.op_type},
             {"inserted_nodes", layer.inserted_nodes},
             {"scale_d", shortest(layer.scale_d)},
             {"offset_d", layer.offset_d},
             {"act_type", layer.act_type}};
  if (!layer.wts_type.empty()) entry["wts_type"] = layer.wts_type;
  return entry;
}

}  // namespace

std::string write_quant_json(const QuantMapping& mapping) {
  Json root{{"version", 1}, {"nodes", Json::array()}, {"layers", Json::array()}};
  for (const NodeMapping& node : mapping.nodes)
    root["nodes"].push_back(
        {{"quantized_node", node.quantized_node}, {"original_nodes", node.original_nodes}});
  for (const LayerQuantization& layer : mapping.layers) root["layers"].push_back(to_json(layer));
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace amct::report
