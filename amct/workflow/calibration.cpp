#include "amct/workflow/calibration.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/config/json_config.h"
#include "amct/config/record.h"
#include "amct/config/simple_config.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/eligibility.h"
#include "amct/report/html.h"
#include "amct/report/quant_json.h"
#include "amct/workflow/activation_statistics.h"
#include "amct/workflow/compare_models.h"
#include "amct/workflow/float_model.h"
#include "amct/workflow/layer_reports.h"
#include "amct/workflow/quant_mapping.h"
#include "amct/workflow/quant_request.h"
#include "amct/workflow/quantized_models.h"
#include "amct/workflow/result_files.h"
#include "amct/workflow/run_model.h"

namespace amct::workflow {
namespace {

/// Batches on which the float and the quantized model are compared for the report.
constexpr std::size_t kComparedBatches = 2;

/// Measures stages that follow each other.
class StageClock {
 public:
  /// Seconds since the last call, or since construction.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - start_).count();
    start_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

runtime::ExecutorOptions executor_options(const CalibrationOptions& options) {
  runtime::ExecutorOptions executor;
  executor.threads = options.threads;
  executor.library = options.onnxruntime;
  executor.custom_op_libraries = options.custom_op_libraries;
  return executor;
}

config::SimpleConfig read_config(const CalibrationOptions& options) {
  config::SimpleConfig simple;
  if (!options.calibration_config.empty())
    simple = config::parse_simple_config(read_file(options.calibration_config),
                                         options.calibration_config.string());
  if (options.batch_num) simple.batch_num = options.batch_num;
  return simple;
}

/// Fills in how close each layer's output is to the float model's.
void compare_layers(report::RunReport& report, const ir::Model& prepared,
                    const QuantizedModels& quantized, runtime::DataSource& data,
                    std::size_t batches, const runtime::ExecutorOptions& executor,
                    const ProgressCallback& progress) {
  std::map<std::string, std::string> result_of;
  std::vector<std::string> tensors;
  for (const passes::LayerPlan& layer : quantized.plan.layers) {
    ir::Node* node = prepared.graph->find_node(layer.layer);
    const ir::Node* add = passes::find_bias_add(*ir::view_onnx_layer(*node));
    result_of[layer.layer] = (add != nullptr ? add : node)->output()->name();
    tensors.push_back(result_of[layer.layer]);
  }
  CompareOptions comparing{executor, tensors, {}};
  if (progress)
    comparing.progress = [&](std::size_t done, std::size_t total, double) {
      progress("compare", done, total);
    };
  std::map<std::string, kernels::Comparison> errors;
  for (const TensorComparison& compared :
       compare_models(prepared, quantized.fake_quant, data, batches, comparing).tensors)
    errors[compared.name] = compared.sums;
  for (report::LayerReport& layer : report.layers) {
    const auto found = errors.find(result_of[layer.name]);
    if (!layer.quantized || found == errors.end() || found->second.count == 0) continue;
    layer.sqnr_db = found->second.sqnr_db();
    layer.cosine = found->second.cosine();
  }
}

void keep_intermediate_results(const CalibrationOptions& options, const FloatModel& model,
                               const QuantRequest& request, const std::string& record) {
  const std::filesystem::path folder = make_temporary_folder(options.save_path);
  write_file(folder / "quant_config.json", config::write_json_config(request.config));
  write_file(folder / "record.txt", record);
  onnx::save(model.original, folder / "updated_model.onnx");
  onnx::save(model.prepared, folder / "modified_model.onnx");
  log_info("intermediate results are kept in {}", folder.string());
}

}  // namespace

report::RunReport calibrate_model(const CalibrationOptions& options,
                                  const ProgressCallback& progress) {
  const config::SimpleConfig simple = read_config(options);
  if (!options.dry_run) {
    check_writable(options.save_path);
    for (const char* suffix : {"_fake_quant_model.onnx", "_deploy_model.onnx"})
      refuse_to_overwrite(options.model, options.save_path + suffix);
  }
  StageClock clock;
  ir::Model original = onnx::load(options.model);
  report::RunReport report = start_report(options.model, options.save_path);
  report.command_line = options.command_line;
  report.dry_run = options.dry_run;
  report.seconds.load = clock.lap();
  const FloatModel model = prepare_float_model(std::move(original), simple.do_fusion.value_or(true),
                                               simple.skip_fusion_layers);
  QuantRequest request = make_request(model.prepared, model.original, simple);
  report.seconds.prepare = clock.lap();
  if (options.dry_run) {
    report.layers = describe_request(request);
    return report;
  }
  if (request.tensors.empty()) refuse_nothing_to_quantize(request.skipped);

  const std::size_t batch_num = request.config.batch_num;
  const std::unique_ptr<runtime::DataSource> data = open_model_data(
      {options.data_dir, options.input_shape, options.data_types}, model.original, batch_num);
  const runtime::ExecutorOptions executor = executor_options(options);
  CollectOptions collecting{executor, {}, kReportHistogramBins, {}};
  if (progress)
    collecting.progress = [&](std::size_t done, std::size_t total, double) {
      progress("calibrate", done, total);
    };
  const CollectedStatistics statistics =
      collect(model.prepared, request.tensors, *data, batch_num, collecting);
  report.calibration_batches = statistics.batches;
  std::map<std::string, const TensorStatistics*> statistics_of;
  const std::vector<std::string> keys = record_keys(request);
  for (std::size_t i = 0; i < keys.size(); ++i) statistics_of[keys[i]] = &statistics.tensors[i];
  apply_statistics(request, statistics);
  report.seconds.calibrate = clock.lap();

  const QuantizedModels quantized = quantize_prepared(model.prepared, request);
  report.layers = describe_layers(model.prepared, request, quantized.plan, statistics_of);
  report.seconds.quantize = clock.lap();
  if (options.compare)
    compare_layers(report, model.prepared, quantized, *data, std::min(batch_num, kComparedBatches),
                   executor, progress);
  report.seconds.compare = clock.lap();

  ResultFiles files(options.save_path);
  const std::string record = config::write_record(make_record(quantized.plan));
  report.fake_quant_bytes = files.add_model(quantized.fake_quant, "_fake_quant_model.onnx");
  report.deploy_bytes = files.add_model(quantized.deploy, "_deploy_model.onnx");
  files.add_text(files.path("_quant.json"), report::write_quant_json(map_nodes(
                                                model.original, quantized.deploy, quantized.plan)));
  files.add_text(files.path("_record.txt"), record);
  if (options.keep_temporary) keep_intermediate_results(options, model, request, record);
  report.seconds.save = clock.lap();
  report.peak_memory_bytes = UsageMeter().read().peak_bytes;
  if (options.warnings) report.warnings = options.warnings();
  const std::filesystem::path page =
      options.report.empty() ? files.path("_report.html") : options.report;
  files.add_text(page, report::render_html(report));
  report.files_written = files.commit();
  return report;
}

}  // namespace amct::workflow
