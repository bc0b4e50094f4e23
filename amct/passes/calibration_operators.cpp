#include "amct/passes/calibration_operators.h"

#include <fmt/core.h>

#include <variant>

#include "amct/base/error.h"
#include "amct/passes/layer_rewrite.h"

namespace amct::passes {
namespace {

void set_int(ir::Node& node, std::string_view attribute, std::size_t value) {
  node.set_attribute(attribute, static_cast<std::int64_t>(value));
}

void describe_algorithm(ir::Node& node, const IfmrOptions& ifmr) {
  node.set_attribute("start_ratio", ifmr.search_range_start);
  node.set_attribute("end_ratio", ifmr.search_range_end);
  node.set_attribute("step", ifmr.search_step);
  node.set_attribute("max_percentile", ifmr.max_percentile);
  node.set_attribute("min_percentile", ifmr.min_percentile);
}

void describe_algorithm(ir::Node& node, const HfmgOptions& hfmg) {
  set_int(node, "num_of_bins", hfmg.num_of_bins);
}

void insert(ir::Graph& graph, const CalibrationOperator& wanted, std::size_t operators,
            const CalibrationRun& run) {
  ir::Value* tensor = graph.find(wanted.tensor);
  if (tensor == nullptr)
    raise(ErrorCode::kInternal, "the model has no tensor '{}' to observe", wanted.tensor);
  const bool ifmr = std::holds_alternative<IfmrOptions>(wanted.options.algorithm);
  ir::Node* node = add_named(graph, ifmr ? "IFMR" : "HFMG", {tensor},
                             wanted.layers.front() + ".calibration", nullptr);
  node->domain = kCalibrationDomain;
  node->set_attribute("record_file_path", run.record_file);
  node->set_attribute("calibration_id", run.id);
  set_int(*node, "operator_num", operators);
  set_int(*node, "batch_num", run.batch_num);
  set_int(*node, "num_bits", static_cast<std::size_t>(wanted.options.num_bits));
  set_int(*node, "with_offset", wanted.options.asymmetric ? 1 : 0);
  std::visit([node](const auto& algorithm) { describe_algorithm(*node, algorithm); },
             wanted.options.algorithm);
  set_int(*node, "layer_num", wanted.layers.size());
  for (std::size_t i = 0; i < wanted.layers.size(); ++i)
    node->set_attribute(fmt::format("object_layer{}", i), wanted.layers[i]);
}

}  // namespace

void insert_calibration(ir::Model& model, std::span<const CalibrationOperator> operators,
                        const CalibrationRun& run) {
  for (const CalibrationOperator& wanted : operators)
    insert(*model.graph, wanted, operators.size(), run);
  model.opset_imports[kCalibrationDomain] = 1;
}

void remove_calibration(ir::Model& model) {
  for (ir::Node* node : model.graph->node_list())
    if (node->domain == kCalibrationDomain) model.graph->remove_node(node);
  model.opset_imports.erase(kCalibrationDomain);
}

}  // namespace amct::passes
