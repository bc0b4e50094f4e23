#include "amct/workflow/calibrated_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/config/json_config.h"
#include "amct/config/record.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/calibration_operators.h"
#include "amct/report/quant_json.h"
#include "amct/workflow/float_model.h"
#include "amct/workflow/quant_mapping.h"

namespace amct::workflow {
namespace {

// What a calibration model says of itself in its metadata.
constexpr const char* kConfigKey = "amct.quant_config";
constexpr const char* kOriginalKey = "amct.original_model";
constexpr const char* kIdKey = "amct.calibration_id";

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

/// Takes out of the model what write_origin put in.
CalibrationOrigin take_origin(ir::Model& model, const std::filesystem::path& file) {
  CalibrationOrigin origin{
      config::parse_json_config(metadata(model, kConfigKey, file), file.string()),
      metadata(model, kOriginalKey, file), metadata(model, kIdKey, file)};
  for (const char* key : {kConfigKey, kOriginalKey, kIdKey}) model.remove_metadata(key);
  return origin;
}

}  // namespace

void write_origin(ir::Model& model, const CalibrationOrigin& origin) {
  model.set_metadata(kConfigKey, config::write_json_config(origin.config));
  model.set_metadata(kOriginalKey, origin.original_model);
  model.set_metadata(kIdKey, origin.calibration_id);
}

CalibratedModel read_calibrated(const std::filesystem::path& modified_onnx_file,
                                const std::filesystem::path& record_file) {
  CalibratedModel model;
  model.prepared = onnx::load(modified_onnx_file);
  model.origin = take_origin(model.prepared, modified_onnx_file);
  passes::remove_calibration(model.prepared);
  model.request = make_checked_request(model.prepared, model.origin.config);
  const RecordFile record = read_record_file(record_file, model.origin.calibration_id);
  apply_record(model.request, record, record_file);
  model.state = record.state;
  return model;
}

void add_quantized(ResultFiles& files, const CalibratedModel& model,
                   const QuantizedModels& quantized) {
  files.add_model(quantized.fake_quant, "_fake_quant_model.onnx");
  files.add_model(quantized.deploy, "_deploy_model.onnx");
  files.add_text(
      files.path("_quant.json"),
      report::write_quant_json(map_nodes(original_or(model.origin.original_model, model.prepared),
                                         quantized.deploy, quantized.plan)));
}

}  // namespace amct::workflow
