#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace amct::report {

/// Counts of equally wide bins over [min, max]. No bins: not recorded.
struct ReportHistogram {
  std::vector<std::uint64_t> bins;
  double min = 0.0;
  double max = 0.0;
};

/// What happened to one layer that could be quantized by its kind.
struct LayerReport {
  std::string name;
  std::string op_type;
  bool quantized = false;
  /// Why the layer stays in float; empty when quantized.
  std::string reason;

  /// Activation: real scale and signed zero point, as in the record file.
  double scale_d = 0.0;
  std::int32_t offset_d = 0;
  int activation_bits = 8;
  std::string algorithm;  // "IFMR" or "HFMG"
  /// Range that the chosen factor keeps, and range seen in calibration.
  double clip_min = 0.0;
  double clip_max = 0.0;
  double observed_min = 0.0;
  double observed_max = 0.0;
  std::uint64_t non_finite_count = 0;

  /// 0: the layer has no weight.
  int weight_bits = 0;
  bool per_channel = false;
  double weight_scale_min = 0.0;
  double weight_scale_max = 0.0;
  /// Output channels whose weight scale was raised so that the bias fits int32.
  std::vector<std::int64_t> raised_channels;

  ReportHistogram activation_histogram;
  ReportHistogram weight_histogram;
  double weight_clip_min = 0.0;
  double weight_clip_max = 0.0;

  /// Output of the layer, quantized against float; empty when not compared. May be NaN or infinite.
  std::optional<double> sqnr_db;
  std::optional<double> cosine;

  /// Bytes of weight and bias.
  std::uint64_t parameter_bytes_before = 0;
  std::uint64_t parameter_bytes_after = 0;
};

/// Wall-clock seconds of each stage; 0 when the stage did not run.
struct StageSeconds {
  double load = 0.0;
  double prepare = 0.0;
  double calibrate = 0.0;
  double quantize = 0.0;
  double save = 0.0;
  double compare = 0.0;
};

/// Everything that a run tells its user; the workflow fills it, render_table and render_html show
/// it.
struct RunReport {
  std::string model;
  std::string prefix;  // save_path
  std::string tool_version;
  std::string date;  // ISO 8601
  std::string command_line;
  bool dry_run = false;
  std::size_t calibration_batches = 0;
  StageSeconds seconds;
  std::uint64_t peak_memory_bytes = 0;
  /// File sizes with external data; 0: not written.
  std::uint64_t float_bytes = 0;
  std::uint64_t deploy_bytes = 0;
  std::uint64_t fake_quant_bytes = 0;
  /// In graph order.
  std::vector<LayerReport> layers;
  std::vector<std::string> warnings;
  std::vector<std::string> files_written;
};

}  // namespace amct::report
