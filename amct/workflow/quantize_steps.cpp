#include "amct/workflow/quantize_steps.h"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/config/json_config.h"
#include "amct/config/record.h"
#include "amct/config/simple_config.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/calibration_operators.h"
#include "amct/passes/quantize_weights.h"
#include "amct/report/quant_json.h"
#include "amct/workflow/float_model.h"
#include "amct/workflow/live_calibration.h"
#include "amct/workflow/quant_mapping.h"
#include "amct/workflow/quant_request.h"
#include "amct/workflow/quantized_models.h"
#include "amct/workflow/record_state.h"
#include "amct/workflow/result_files.h"

namespace amct::workflow {
namespace {

// What a calibration model says of itself in its metadata.
constexpr const char* kConfigKey = "amct.quant_config";
constexpr const char* kOriginalKey = "amct.original_model";
constexpr const char* kIdKey = "amct.calibration_id";

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

std::string new_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
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

const std::string& metadata(const ir::Model& model, const char* key,
                            const std::filesystem::path& file) {
  const std::string* found = model.find_metadata(key);
  if (found == nullptr)
    raise(ErrorCode::kInvalidModel,
          "'{}' is not a calibration model; give the modified_onnx_file that quantize_model wrote",
          file.string());
  return *found;
}

[[noreturn]] void refuse_incomplete(const std::filesystem::path& record_file,
                                    const std::vector<std::string>& missing, bool any,
                                    const std::optional<RecordState>& state) {
  std::string progress;
  if (state && !state->complete())
    progress = fmt::format(
        " Calibration has seen {} of {} batches: run the calibration model that often, in one "
        "process.",
        state->seen, state->batch_num);
  if (!any)
    raise(ErrorCode::kRuntime,
          "record_file is empty, no layers to be quantized. please ensure calibration is finished "
          "by checking information!{} ('{}')",
          progress, record_file.string());
  std::string text;
  for (const std::string& layer : missing) text += (text.empty() ? "" : ", ") + layer;
  raise(ErrorCode::kRuntime,
        "{} is quantizable in config but has no record in record_file.{} ('{}')", text, progress,
        record_file.string());
}

/// A record file as it stands; the user may have edited it, its first lines included.
struct RecordFile {
  config::Record record;
  std::optional<RecordState> state;
};

RecordFile read_record_file(const std::filesystem::path& path, const std::string& calibration_id) {
  const std::string text = read_file(path);
  RecordFile file{config::parse_record(text, path.string()), read_record_state(text)};
  config::validate_record(file.record, path.string());
  if (file.state && file.state->calibration_id != calibration_id)
    log_warning("record file '{}' was made for another calibration model", path.string());
  return file;
}

/// Puts recorded factors into the layers; those that calibration left in float go.
void apply_record(QuantRequest& request, const RecordFile& file,
                  const std::filesystem::path& path) {
  const auto& [record, state] = file;
  std::map<std::string, const config::LayerRecord*> entries;
  for (const auto& [layer, entry] : record.entries) entries[layer] = &entry;
  std::map<std::string, std::string> in_float;
  if (state) in_float.insert(state->in_float.begin(), state->in_float.end());

  std::vector<std::string> missing;
  bool any = false;
  /// False for what stays in float.
  const auto apply = [&](const std::string& key, auto& one) {
    const auto entry = entries.find(key);
    if (entry != entries.end() && entry->second->scale_d) {
      apply_factors(one, *entry->second);
      return any = true;
    }
    if (in_float.contains(key)) {
      request.skipped.push_back({key, "", in_float[key]});
    } else {
      missing.push_back(key);
    }
    return false;
  };
  std::erase_if(request.layers, [&](auto& layer) { return !apply(layer.layer, layer); });
  std::erase_if(request.inputs, [&](auto& input) { return !apply(input.key(), input); });
  if (!missing.empty()) refuse_incomplete(path, missing, any, state);
}

/// Whether a weight scale had to be raised, so that the record file does not tell it.
bool differs_from_record(const passes::QuantPlan& plan) {
  return std::ranges::any_of(
      plan.layers, [](const passes::LayerPlan& layer) { return !layer.raised_channels.empty(); });
}

/// For the mapping of nodes; the prepared model serves when the original is gone.
ir::Model original_or(const std::string& path, const ir::Model& prepared) {
  try {
    ir::Model original = onnx::load(path);
    complete_names(original);
    return original;
  } catch (const Error& error) {
    log_warning("the node names of the original model are not known: {}", error.what());
    return prepared.clone();
  }
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
                                   new_id(), request.config.batch_num};
  const config::Record record = weight_record(model.prepared, request);
  passes::insert_calibration(model.prepared, operators_for(request), run);
  model.prepared.set_metadata(kConfigKey, config::write_json_config(request.config));
  model.prepared.set_metadata(kOriginalKey, std::filesystem::absolute(model_file).string());
  model.prepared.set_metadata(kIdKey, run.id);

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
  ir::Model prepared = onnx::load(modified_onnx_file);
  const config::QuantConfig config = config::parse_json_config(
      metadata(prepared, kConfigKey, modified_onnx_file), modified_onnx_file.string());
  const std::string original = metadata(prepared, kOriginalKey, modified_onnx_file);
  const std::string id = metadata(prepared, kIdKey, modified_onnx_file);
  passes::remove_calibration(prepared);
  for (const char* key : {kConfigKey, kOriginalKey, kIdKey}) prepared.remove_metadata(key);

  QuantRequest request = make_checked_request(prepared, config);
  const RecordFile record = read_record_file(record_file, id);
  apply_record(request, record, record_file);
  const QuantizedModels quantized = quantize_prepared(prepared, request);

  ResultFiles files(save_path);
  files.add_model(quantized.fake_quant, "_fake_quant_model.onnx");
  files.add_model(quantized.deploy, "_deploy_model.onnx");
  files.add_text(files.path("_quant.json"),
                 report::write_quant_json(
                     map_nodes(original_or(original, prepared), quantized.deploy, quantized.plan)));
  if (differs_from_record(quantized.plan))
    files.add_text(record_file, (record.state ? write_record_state(*record.state) : "") +
                                    config::write_record(make_record(quantized.plan)));
  for (const std::string& path : files.commit())
    if (path.ends_with(".onnx")) log_info("The model file is saved in {}", path);
}

}  // namespace amct::workflow
