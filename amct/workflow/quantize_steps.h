#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The three steps of amct_onnx (spec onnx_and_cli 15.1-15.3), between which the user runs the
// calibration model. Files that exist are replaced, with a warning. All throw Error.
namespace amct::workflow {

/// The arguments of create_quant_config.
struct QuantConfigOptions {
  std::filesystem::path config_file;
  std::filesystem::path model_file;
  std::vector<std::string> skip_layers;
  std::uint32_t batch_num = 1;
  bool activation_offset = true;
  /// Simple config; when given, it alone counts.
  std::filesystem::path config_defination;
  /// Where the model with complete and unique node names goes; empty: nowhere.
  std::filesystem::path updated_model;
};

/// Writes the JSON config with an entry for every layer that can be quantized.
void create_quant_config(const QuantConfigOptions& options);

/// Writes the model with calibration operators, and the record file, which holds the scales of the
/// weights; the operators add those of the activations.
void quantize_model(const std::filesystem::path& config_file,
                    const std::filesystem::path& model_file,
                    const std::filesystem::path& modified_onnx_file,
                    const std::filesystem::path& record_file);

/// Writes <save_path>_fake_quant_model.onnx, _deploy_model.onnx and _quant.json from the
/// calibration model and the complete record file.
void save_model(const std::filesystem::path& modified_onnx_file,
                const std::filesystem::path& record_file, const std::string& save_path);

}  // namespace amct::workflow
