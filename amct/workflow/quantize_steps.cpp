#include "amct/workflow/quantize_steps.h"

#include <algorithm>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/base/unique_id.h"
#include "amct/config/json_config.h"
#include "amct/config/record.h"
#include "amct/config/simple_config.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/calibration_operators.h"
#include "amct/passes/quantize_weights.h"
#include "amct/workflow/calibrated_model.h"
#include "amct/workflow/float_model.h"
#include "amct/workflow/live_calibration.h"
#include "amct/workflow/quant_request.h"
#include "amct/workflow/quantized_models.h"
#include "amct/workflow/record_state.h"
#include "amct/workflow/result_files.h"

namespace amct::workflow {
namespace {

config::SimpleConfig simple_config(const QuantConfigOptions& options) {
  if (!options.config_defination.empty())
    return config::parse_simple_config(read_file(options.config_defination),
                                       options.config_defination.string());
  config::SimpleConfig simple;
  simple.skip_layers = options.skip_layers;
  simple.batch_num = options.batch_num;
  simple.activation_offset = options.activation_offset;
  return simple;
}

/// One operator per tensor and options, in the order of the layers.
std::vector<passes::CalibrationOperator> operators_for(const QuantRequest& request) {
  std::vector<passes::CalibrationOperator> operators;
  const std::vector<std::string> keys = record_keys(request);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ObservedTensor& tensor = request.tensors[i];
    const auto found = std::ranges::find_if(operators, [&](const auto& one) {
      return one.tensor == tensor.name && one.options == tensor.options;
    });
    if (found == operators.end()) {
      operators.push_back({tensor.name, {keys[i]}, tensor.options});
    } else {
      found->layers.push_back(keys[i]);
    }
  }
  return operators;
}

/// The record before calibration: everything but the factors of the activations.
config::Record weight_record(const ir::Model& prepared, const QuantRequest& request) {
  config::Record record;
  for (const passes::LayerRequest& layer : request.layers) {
    config::LayerRecord entry = describe_record(layer.activation.num_bits);
    entry.scale_w = passes::find_weight_scales(prepared, layer);
    entry.offset_w.assign(entry.scale_w.size(), 0);
    if (!entry.scale_w.empty()) entry.wts_type = "INT8";
    record.entries.emplace_back(layer.layer, std::move(entry));
  }
  for (const passes::InputRequest& input : request.inputs)
    record.entries.emplace_back(input.key(), describe_input_record(input.activation.num_bits));
  return record;
}

/// Whether a weight scale had to be raised, so that the record file does not tell it.
bool differs_from_record(const passes::QuantPlan& plan) {
  return std::ranges::any_of(
      plan.layers, [](const passes::LayerPlan& layer) { return !layer.raised_channels.empty(); });
}

}  // namespace

void create_quant_config(const QuantConfigOptions& options) {
  const config::SimpleConfig simple = simple_config(options);
  const FloatModel model = prepare_float_model(
      onnx::load(options.model_file), simple.do_fusion.value_or(true), simple.skip_fusion_layers);
  const QuantRequest request = make_request(model.prepared, model.original, simple);
  for (const passes::SkippedLayer& layer : request.skipped)
    log_info("layer '{}' ({}) is not quantized: {}", layer.layer, layer.op_type, layer.reason);
  ResultFiles files("");
  if (!options.updated_model.empty()) {
    refuse_to_overwrite(options.model_file, options.updated_model);
    files.add_files(onnx::stage(model.original, options.updated_model));
  }
  files.add_text(options.config_file, config::write_json_config(request.config));
  files.commit();
}

void quantize_model(const std::filesystem::path& config_file,
                    const std::filesystem::path& model_file,
                    const std::filesystem::path& modified_onnx_file,
                    const std::filesystem::path& record_file) {
  refuse_to_overwrite(model_file, modified_onnx_file);
  const config::QuantConfig config =
      config::parse_json_config(read_file(config_file), config_file.string());
  FloatModel model =
      prepare_float_model(onnx::load(model_file), config.do_fusion, config.skip_fusion_layers);
  const QuantRequest request = make_request(model.prepared, model.original, config);
  if (request.tensors.empty()) refuse_nothing_to_quantize(request.skipped);

  const passes::CalibrationRun run{std::filesystem::absolute(record_file).lexically_normal(),
                                   unique_id(), request.config.batch_num};
  const config::Record record = weight_record(model.prepared, request);
  passes::insert_calibration(model.prepared, operators_for(request), run);
  write_origin(model.prepared,
               {request.config, std::filesystem::absolute(model_file).string(), run.id});

  ResultFiles files("");
  files.add_files(onnx::stage(model.prepared, modified_onnx_file));
  files.add_text(record_file,
                 write_record_state({run.id, 0, run.batch_num, {}}) + config::write_record(record));
  files.commit();
  forget_live(run.record_file);
  log_info("{} layers are to be calibrated; run '{}' on {} batches", request.tensors.size(),
           modified_onnx_file.string(), run.batch_num);
}

void save_model(const std::filesystem::path& modified_onnx_file,
                const std::filesystem::path& record_file, const std::string& save_path) {
  check_writable(save_path);
  const CalibratedModel model = read_calibrated(modified_onnx_file, record_file);
  const QuantizedModels quantized = quantize_prepared(model.prepared, model.request);

  ResultFiles files(save_path);
  add_quantized(files, model, quantized);
  if (differs_from_record(quantized.plan))
    files.add_text(record_file, (model.state ? write_record_state(*model.state) : "") +
                                    config::write_record(make_record(quantized.plan)));
  for (const std::string& path : files.commit())
    if (path.ends_with(".onnx")) log_info("The model file is saved in {}", path);
}

}  // namespace amct::workflow
