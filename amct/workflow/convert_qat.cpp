#include "amct/workflow/convert_qat.h"

#include <algorithm>
#include <map>
#include <utility>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/config/record.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/eligibility.h"
#include "amct/passes/pass_manager.h"
#include "amct/passes/pipelines.h"
#include "amct/passes/take_qdq.h"
#include "amct/report/quant_json.h"
#include "amct/workflow/float_model.h"
#include "amct/workflow/layer_reports.h"
#include "amct/workflow/quant_mapping.h"
#include "amct/workflow/quant_request.h"
#include "amct/workflow/quantized_models.h"
#include "amct/workflow/result_files.h"

namespace amct::workflow {
namespace {

using passes::InputSlot;
using passes::QdqFactors;
using passes::QdqGrid;

void check_model(const ir::Model& model, const std::filesystem::path& file) {
  bool has_pairs = false;
  model.graph->for_each_graph([&](const ir::Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (passes::is_quantized_operator(*node))
        raise(ErrorCode::kUnsupported,
              "node '{}' ({}): '{}' is quantized in another form than QDQ, which alone can be "
              "converted; write the model with QuantizeLinear/DequantizeLinear pairs "
              "(onnxruntime.quantization: quantize_static with QuantFormat.QDQ)",
              node->label(), node->op_type, file.string());
      has_pairs |= passes::is_quantize_linear(*node) || passes::is_dequantize_linear(*node);
    }
  });
  if (!has_pairs)
    raise(ErrorCode::kUnsupported,
          "'{}' has no QuantizeLinear or DequantizeLinear; a float model is quantized by "
          "`amct onnx calibration`",
          file.string());
}

QuantFactor factor_of(const QdqGrid& grid) {
  return {grid.scales.front(), static_cast<std::int32_t>(grid.offsets.front())};
}

ActivationOptions options_of(const QdqGrid& grid) {
  ActivationOptions options;
  options.num_bits = grid.bits;
  return options;
}

/// Builds the request that the pairs of a model ask for.
class PairRequest {
 public:
  PairRequest(const ir::Model& model, const QdqFactors& qdq) : model_(model), qdq_(qdq) {
    request_.candidates = passes::find_candidates(model);
  }

  QuantRequest make() {
    for (const passes::Candidate& candidate : request_.candidates) {
      try {
        add_layer(candidate);
      } catch (const Error& error) {
        request_.skipped.push_back({candidate.layer, candidate.op_type, error.what()});
      }
    }
    for (const auto& [slot, grid] : qdq_.data) add_input(slot, grid);
    for (const auto& [node, grid] : qdq_.outputs)
      request_.outputs.push_back({node, factor_of(grid), grid.bits});
    for (const auto& [node, reason] : qdq_.left)
      request_.skipped.push_back({node, "QuantizeLinear/DequantizeLinear", reason});
    return std::move(request_);
  }

 private:
  void add_layer(const passes::Candidate& candidate) {
    if (!candidate.reason.empty()) raise(ErrorCode::kUnsupported, "{}", reason_against(candidate));
    ir::Node& node = *model_.graph->find_node(candidate.layer);
    const ir::LayerView view = *ir::view_onnx_layer(node);
    const auto* data = passes::find_data_grid(qdq_, node, view.activation_index);
    if (data == nullptr)
      raise(ErrorCode::kUnsupported,
            "its data do not come from a QuantizeLinear/DequantizeLinear pair");
    passes::LayerRequest layer{
        candidate.layer, options_of(data->second), {}, factor_of(data->second), {}};
    if (view.weight_index) {
      const auto weight = qdq_.constants.find({candidate.layer, *view.weight_index});
      if (weight == qdq_.constants.end())
        raise(ErrorCode::kUnsupported, "its weight does not come from DequantizeLinear");
      layer.weight_scales = passes::weight_scales_of(view, weight->second);
    }
    layers_.emplace(candidate.layer, data->first);
    request_.layers.push_back(std::move(layer));
  }

  /// A pair that could not be taken out says more than that the layer reads DequantizeLinear.
  std::string reason_against(const passes::Candidate& candidate) const {
    const ir::Value* data = model_.graph->find(candidate.activation);
    const ir::Node* producer = data != nullptr ? data->producer() : nullptr;
    const auto left = producer != nullptr ? qdq_.left.find(producer->name) : qdq_.left.end();
    return left == qdq_.left.end() ? candidate.reason
                                   : fmt::format("{} '{}' in front of it stays: {}",
                                                 producer->op_type, left->first, left->second);
  }

  /// A pair that no layer takes over stays a pair: it may clip as well as round.
  void add_input(const InputSlot& slot, const QdqGrid& grid) {
    const ir::Node* node = model_.graph->find_node(slot.first);
    if (node == nullptr || layers_.contains(slot.first) || is_repeated(*node, slot, grid)) return;
    request_.inputs.push_back({slot.first, slot.second, options_of(grid), factor_of(grid)});
  }

  /// Whether all that read the node are quantized as its input `slot` is, so that this changes
  /// nothing.
  bool is_repeated(const ir::Node& node, const InputSlot& slot, const QdqGrid& grid) const {
    if (!passes::commutes_with_quantization(node) || node.output()->is_graph_output()) return false;
    return std::ranges::all_of(node.output()->uses(), [&](const ir::Use& use) {
      const auto own = qdq_.data.find({use.node->name, use.index});
      if (own != qdq_.data.end()) return own->second == grid;
      const auto layer = layers_.find(use.node->name);
      if (layer != layers_.end()) return layer->second == slot;
      return is_repeated(*use.node, slot, grid);
    });
  }

  const ir::Model& model_;
  const QdqFactors& qdq_;
  QuantRequest request_;
  /// Layers that become integer ones, and where the pair of their data was.
  std::map<std::string, InputSlot> layers_;
};

/// The network in float, with constants folded; nothing is fused, which would change the weights
/// that the scales are for.
ir::Model prepare(ir::Model model, QdqFactors& qdq) {
  qdq = passes::take_qdq(model);
  passes::Pipeline pipeline;
  for (const char* name : {"fold_constants", "normalize_gemm"})
    pipeline.push_back(passes::make_pass(name, {}));
  passes::PassManager().run(model, pipeline);
  return model;
}

void log_changes(const QuantRequest& request, const QdqFactors& qdq) {
  for (const passes::SkippedLayer& layer : request.skipped)
    log_warning("'{}' ({}) is not converted: {}", layer.layer, layer.op_type, layer.reason);
  for (const auto& [node, grid] : qdq.outputs)
    if (grid.is_unsigned)
      log_warning("the output that '{}' computes becomes signed: its values are {} smaller", node,
                  1 << (grid.bits - 1));
}

}  // namespace

report::RunReport convert_qat_model(const ConvertOptions& options) {
  if (!options.dry_run) {
    check_writable(options.save_path);
    for (const char* suffix : {"_fake_quant_model.onnx", "_deploy_model.onnx"})
      refuse_to_overwrite(options.model, options.save_path + suffix);
  }
  ir::Model original = onnx::load(options.model);
  check_model(original, options.model);
  complete_names(original);
  QdqFactors qdq;
  const ir::Model prepared = prepare(original.clone(), qdq);
  const QuantRequest request = PairRequest(prepared, qdq).make();
  log_changes(request, qdq);

  report::RunReport report = start_report(options.model, options.save_path);
  report.dry_run = options.dry_run;
  if (options.dry_run) {
    report.layers = describe_request(request);
    return report;
  }
  const QuantizedModels quantized = quantize_prepared(prepared, request);
  report.layers = describe_layers(prepared, request, quantized.plan, {});
  ResultFiles files(options.save_path);
  report.fake_quant_bytes = files.add_model(quantized.fake_quant, "_fake_quant_model.onnx");
  report.deploy_bytes = files.add_model(quantized.deploy, "_deploy_model.onnx");
  files.add_text(files.path("_quant.json"),
                 report::write_quant_json(map_nodes(original, quantized.deploy, quantized.plan)));
  if (!options.record_file.empty())
    files.add_text(options.record_file, config::write_record(make_record(quantized.plan)));
  report.files_written = files.commit();
  return report;
}

}  // namespace amct::workflow
