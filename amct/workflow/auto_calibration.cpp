#include "amct/workflow/auto_calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/config/json_config.h"
#include "amct/config/record.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/comparison_operators.h"
#include "amct/passes/quantize_weights.h"
#include "amct/quant/factor.h"
#include "amct/workflow/calibrated_model.h"
#include "amct/workflow/quantize_steps.h"
#include "amct/workflow/result_files.h"
#include "amct/workflow/search_files.h"

namespace amct::workflow {
namespace {

/// Models between the steps; gone at the end.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& save_dir)
      : parent_(std::filesystem::path(save_dir).parent_path()),
        parent_is_new_(!std::filesystem::exists(parent_)),
        path_(make_temporary_folder(save_dir)) {}
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    if (parent_is_new_) std::filesystem::remove(parent_, ignored);  // when it is empty
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path parent_;
  bool parent_is_new_;
  std::filesystem::path path_;
};

/// The factor for 16 bits that keeps the range of the one for 8 bits.
QuantFactor widened(const QuantFactor& factor, int bits) {
  return quant::factor_of_range(quant::clip_min_of(factor, bits), quant::clip_max_of(factor, bits),
                                16, factor.offset != 0);
}

QuantRequest rolled_back(const QuantRequest& all, const Rollback& rollback) {
  const std::set<std::string> in_float(rollback.in_float.begin(), rollback.in_float.end());
  const std::set<std::string> int16(rollback.int16.begin(), rollback.int16.end());
  QuantRequest request = all;
  request.layers.clear();
  for (passes::LayerRequest layer : all.layers) {
    if (in_float.contains(layer.layer)) {
      request.skipped.push_back({layer.layer, "", "rolled back for accuracy"});
      continue;
    }
    if (int16.contains(layer.layer)) {
      layer.factor = widened(layer.factor, layer.activation.num_bits);
      layer.activation.num_bits = 16;
    }
    request.layers.push_back(std::move(layer));
  }
  return request;
}

config::QuantConfig rolled_back(config::QuantConfig config, const Rollback& rollback) {
  for (auto& [name, layer] : config.layers) {
    if (std::ranges::find(rollback.in_float, name) != rollback.in_float.end())
      layer.quant_enable = false;
    if (std::ranges::find(rollback.int16, name) != rollback.int16.end())
      layer.activation.num_bits = 16;
  }
  return config;
}

class AutoCalibration {
 public:
  AutoCalibration(const AutoCalibrationOptions& options, const AutoCalibrationHooks& hooks,
                  RollbackStrategy& strategy)
      : options_(options), hooks_(hooks), strategy_(strategy), folder_(options.save_dir) {}

  AutoCalibrationResult run() {
    calibrate();
    attempt({});
    if (!result_.trials.front().verdict.satisfied) search();
    save();
    return std::move(result_);
  }

 private:
  void calibrate() {
    const std::string model = folder_.file("modified_model.onnx");
    quantize_model(options_.config_file, options_.model_file, model, options_.record_file);
    hooks_.calibrate(model);
    calibrated_ = read_calibrated(model, options_.record_file);
  }

  /// Whether the limits allow one more trial.
  bool may_go_on() {
    const double spent = seconds_since(start_);
    if (options_.max_trials && result_.trials.size() >= *options_.max_trials)
      log_warning("the search ends at its limit of {} trials", *options_.max_trials);
    else if (options_.max_seconds && spent >= *options_.max_seconds)
      log_warning("the search ends at its limit of {} s", *options_.max_seconds);
    else
      return true;
    return false;
  }

  void search() {
    const std::vector<RankedLayer> layers = rank_layers();
    log_info("the accuracy does not suffice; searching for the layers to leave in float");
    strategy_.begin(layers);
    bool satisfied = false;
    while (may_go_on()) {
      const std::optional<Rollback> rollback = strategy_.next(satisfied);
      if (!rollback) return;
      check_names(*rollback);
      if (rollback->in_float.size() == calibrated_.request.layers.size()) {
        satisfied = true;  // the original model
      } else {
        attempt(*rollback);
        satisfied = result_.trials.back().verdict.satisfied;
      }
    }
  }

  /// A strategy of the user's may name anything.
  void check_names(const Rollback& rollback) const {
    for (const auto* names : {&rollback.in_float, &rollback.int16})
      for (const std::string& name : *names)
        if (std::ranges::find(calibrated_.request.layers, name, &passes::LayerRequest::layer) ==
            calibrated_.request.layers.end())
          raise(ErrorCode::kInvalidConfig,
                "the strategy asks for '{}', which is not one of the quantized layers", name);
  }

  void attempt(const Rollback& rollback) {
    const auto begin = Clock::now();
    const std::string model = folder_.file("fake_quant_model.onnx");
    onnx::save(quantize_prepared(calibrated_.prepared, rolled_back(calibrated_.request, rollback))
                   .fake_quant,
               model);
    Trial trial{rollback, hooks_.judge(model), 0.0};
    trial.seconds = seconds_since(begin);
    log_info("trial {}: {} layers in float, {} with INT16: loss {}, {} ({:.1f} s)",
             result_.trials.size() + 1, rollback.in_float.size(), rollback.int16.size(),
             trial.verdict.loss, trial.verdict.satisfied ? "satisfied" : "not satisfied",
             trial.seconds);
    result_.trials.push_back(std::move(trial));
  }

  /// The layers, least alike first; from the sensitivity file when it is about the same factors.
  std::vector<RankedLayer> rank_layers() {
    const std::string file = options_.save_dir + kSensitivitySuffix;
    const std::string factors = read_file(options_.record_file);
    std::optional<std::vector<RankedLayer>> known;
    if (!hooks_.compare) known = read_sensitivity(file, factors);
    if (known) {
      log_info("the sensitivity of the layers is taken from '{}'", file);
      return *known;
    }
    std::vector<RankedLayer> layers = compare_layers();
    write_sensitivity(file, factors, layers);
    return layers;
  }

  std::vector<RankedLayer> compare_layers() {
    const LiveComparison comparison(hooks_.compare);
    ir::Model model = calibrated_.prepared.clone();
    passes::insert_comparisons(model, passes::make_plan(model, calibrated_.request.layers),
                               comparison.id());
    const std::string file = folder_.file("sensitivity_model.onnx");
    onnx::save(model, file);
    hooks_.calibrate(file);
    const std::map<std::string, double> means = comparison.means();
    std::vector<RankedLayer> layers;
    for (const passes::LayerRequest& layer : calibrated_.request.layers) {
      const auto found = means.find(layer.layer);
      if (found == means.end())
        raise(ErrorCode::kRuntime,
              "the evaluator's calibration() did not run the model that it was given, '{}', with "
              "the session options amct_onnx.AMCT_SO",
              file);
      const std::string& op_type = model.graph->find_node(layer.layer)->op_type;
      layers.push_back({layer.layer, op_type, std::isfinite(found->second) ? found->second : -1.0,
                        op_type != "MatMul" && layer.activation.num_bits == 8});
    }
    std::ranges::stable_sort(layers, {}, &RankedLayer::similarity);
    return layers;
  }

  void save() {
    result_.best = best_trial();
    const Trial& best = result_.trials[result_.best];
    if (!best.verdict.satisfied)
      log_warning(
          "no trial satisfies the evaluator; the model with the smallest loss, {}, is saved",
          best.verdict.loss);
    const QuantizedModels quantized =
        quantize_prepared(calibrated_.prepared, rolled_back(calibrated_.request, best.rollback));
    ResultFiles files(options_.save_dir);
    add_quantized(files, calibrated_, quantized);
    files.add_text(options_.record_file, config::write_record(make_record(quantized.plan)));
    files.add_text(
        files.path("_final_config.json"),
        config::write_json_config(rolled_back(calibrated_.origin.config, best.rollback)));
    files.add_text(files.path(kHistorySuffix), write_history(result_));
    for (const std::string& path : files.commit())
      if (path.ends_with(".onnx")) log_info("The model file is saved in {}", path);
  }

  /// The satisfying trial with the fewest layers rolled back, INT16 before float; else the smallest
  /// loss.
  std::size_t best_trial() const {
    const auto cost = [](const Trial& trial) {
      return std::make_tuple(!trial.verdict.satisfied,
                             trial.verdict.satisfied ? 0.0 : trial.verdict.loss,
                             trial.rollback.in_float.size(), trial.rollback.int16.size());
    };
    return static_cast<std::size_t>(std::ranges::min_element(result_.trials, {}, cost) -
                                    result_.trials.begin());
  }

  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  const AutoCalibrationOptions& options_;
  const AutoCalibrationHooks& hooks_;
  RollbackStrategy& strategy_;
  const Clock::time_point start_ = Clock::now();
  WorkFolder folder_;
  CalibratedModel calibrated_;
  AutoCalibrationResult result_;
};

}  // namespace

AutoCalibrationResult auto_calibrate(const AutoCalibrationOptions& options,
                                     const AutoCalibrationHooks& hooks,
                                     RollbackStrategy& strategy) {
  check_writable(options.save_dir);
  return AutoCalibration(options, hooks, strategy).run();
}

}  // namespace amct::workflow
