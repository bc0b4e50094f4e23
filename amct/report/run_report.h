#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "amct/base/quant_options.h"

namespace amct::report {

/// Counts of equally wide bins over [min, max], with the clip range that was chosen.
struct HistogramReport {
  double min = 0.0;
  double max = 0.0;
  double clip_min = 0.0;
  double clip_max = 0.0;
  std::vector<std::uint64_t> counts;  // empty: no histogram
};

/// What happened to one layer, in graph order.
struct LayerReport {
  std::string name;
  std::string op_type;
  bool quantized = false;
  std::string reason;  // why not quantized; empty when it is

  QuantFactor activation;
  int activation_bits = 8;
  std::string algorithm;  // "IFMR" or "HFMG"
  double observed_min = 0.0;
  double observed_max = 0.0;
  std::uint64_t nonfinite_count = 0;
  HistogramReport activation_histogram;

  int weight_bits = 0;  // 0: no weight
  bool per_channel = false;
  double weight_scale_min = 0.0;
  double weight_scale_max = 0.0;
  std::vector<std::int64_t> raised_channels;
  HistogramReport weight_histogram;

  /// Of the layer's output against the float model; absent when not compared.
  std::optional<double> sqnr_db;
  std::optional<double> cosine;
  std::uint64_t bytes_before = 0;  // weight and bias
  std::uint64_t bytes_after = 0;
};

/// One run of `amct onnx calibration`.
struct RunReport {
  std::string model;
  std::string save_path;
  std::string version;
  std::string date;  // ISO 8601, UTC
  std::string engine;  // e.g. "ONNX Runtime 1.32.0"
  bool dry_run = false;
  std::size_t batches = 0;
  std::vector<std::pair<std::string, double>> stage_seconds;
  std::uint64_t peak_memory_bytes = 0;
  std::uint64_t float_model_bytes = 0;
  std::uint64_t deploy_model_bytes = 0;
  std::uint64_t fake_quant_model_bytes = 0;
  std::vector<LayerReport> layers;
  std::vector<std::string> warnings;
  /// What was written, in the order it appeared.
  std::vector<std::string> files;
};

}  // namespace amct::report
