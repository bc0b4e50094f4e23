#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "amct/workflow/live_comparison.h"
#include "amct/workflow/rollback_strategy.h"

namespace amct::workflow {

/// Arguments of accuracy_based_auto_calibration (spec onnx_and_cli 10, 15.4).
struct AutoCalibrationOptions {
  std::filesystem::path model_file;
  std::filesystem::path config_file;
  std::filesystem::path record_file;
  /// Folder plus file name prefix of the results.
  std::string save_dir;
  /// Limits of the search, the first trial included; none: until the strategy ends.
  std::optional<std::size_t> max_trials;
  std::optional<double> max_seconds;
};

/// What the user's evaluator says of a model.
struct Verdict {
  bool satisfied = false;
  double loss = 0.0;
};

/// The user's part. Exceptions end the search.
struct AutoCalibrationHooks {
  /// Runs a model with AMCT's operators on calibration data, in this process.
  std::function<void(const std::string& model)> calibrate;
  /// Measures a model and compares it with the original.
  std::function<Verdict(const std::string& model)> judge;
  /// Empty: cosine.
  CompareOutputs compare;
};

struct Trial {
  Rollback rollback;
  Verdict verdict;
  double seconds = 0.0;
};

struct AutoCalibrationResult {
  /// In the order in which they were made; the first has no layer rolled back.
  std::vector<Trial> trials;
  /// The trial that was saved.
  std::size_t best = 0;
  bool satisfied() const { return trials[best].verdict.satisfied; }
};

/// Quantizes the model and, when that costs too much accuracy, rolls back layers until it does not.
/// Writes <save_dir>_fake_quant_model.onnx, _deploy_model.onnx, _quant.json, _final_config.json,
/// _rollback_history.json, when there was a search also _sensitivity.json, and the record file.
/// When no trial satisfies, these are of the one with the smallest loss. Throws Error.
AutoCalibrationResult auto_calibrate(const AutoCalibrationOptions& options,
                                     const AutoCalibrationHooks& hooks, RollbackStrategy& strategy);

}  // namespace amct::workflow
