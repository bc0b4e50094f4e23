#include "amct/workflow/search_files.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"

namespace amct::workflow {
namespace {

using Json = nlohmann::ordered_json;

std::string to_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// FNV-1a over everything but comments, which hold an id that each calibration has anew.
std::string fingerprint(std::string_view factors) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  while (!factors.empty()) {
    const std::size_t length = std::min(factors.find('\n'), factors.size() - 1) + 1;
    if (!factors.starts_with("#"))
      for (const char letter : factors.substr(0, length))
        hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
    factors.remove_prefix(length);
  }
  return fmt::format("{:016x}", hash);
}

/// JSON has no NaN.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

}  // namespace

void write_sensitivity(const std::filesystem::path& file, std::string_view factors,
                       const std::vector<RankedLayer>& layers) {
  Json root{{"version", 1}, {"factors", fingerprint(factors)}, {"layers", Json::array()}};
  for (const RankedLayer& layer : layers)
    root["layers"].push_back({{"layer", layer.layer},
                              {"op_type", layer.op_type},
                              {"similarity", number(layer.similarity)},
                              {"takes_int16", layer.takes_int16}});
  write_file(file, to_text(root));
}

std::optional<std::vector<RankedLayer>> read_sensitivity(const std::filesystem::path& file,
                                                         std::string_view factors) {
  std::error_code missing;
  if (!std::filesystem::exists(file, missing)) return std::nullopt;
  try {
    const Json root = Json::parse(read_file(file));
    if (root.at("version") != 1 || root.at("factors") != fingerprint(factors)) return std::nullopt;
    std::vector<RankedLayer> layers;
    for (const Json& layer : root.at("layers"))
      layers.push_back({layer.at("layer"), layer.at("op_type"), layer.at("similarity"),
                        layer.at("takes_int16")});
    return layers;
  } catch (const Json::exception&) {
    return std::nullopt;  // it is written anew
  }
}

std::string write_history(const AutoCalibrationResult& result) {
  Json root{{"version", 1},
            {"satisfied", result.satisfied()},
            {"saved_trial", result.best + 1},
            {"trials", Json::array()}};
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    const Trial& trial = result.trials[i];
    root["trials"].push_back({{"trial", i + 1},
                              {"loss", number(trial.verdict.loss)},
                              {"satisfied", trial.verdict.satisfied},
                              {"in_float", trial.rollback.in_float},
                              {"int16", trial.rollback.int16},
                              {"seconds", trial.seconds}});
  }
  return to_text(root);
}

}  // namespace amct::workflow
