#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amct/workflow/auto_calibration.h"

// Files of the accuracy-based search beside its models (docs/python.md).
namespace amct::workflow {

inline constexpr const char* kSensitivitySuffix = "_sensitivity.json";
inline constexpr const char* kHistorySuffix = "_rollback_history.json";

/// `factors`: text of the record file that the similarities are about.
void write_sensitivity(const std::filesystem::path& file, std::string_view factors,
                       const std::vector<RankedLayer>& layers);

/// None when there is no such file, or it is about other factors.
std::optional<std::vector<RankedLayer>> read_sensitivity(const std::filesystem::path& file,
                                                         std::string_view factors);

/// Content of the history file.
std::string write_history(const AutoCalibrationResult& result);

}  // namespace amct::workflow
