// Simple config: hostile text gives an Error; what a model accepts can be written as a JSON config
// and reads back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "amct/base/error.h"
#include "amct/config/json_config.h"
#include "amct/config/simple_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const amct::config::ModelInfo model{
      {{"conv1", "Conv", 4, true}, {"conv2", "Conv", 3, true}, {"fc", "Gemm", 2, false}},
      {{"conv1", "Conv", 2},
       {"conv2", "Conv", 2},
       {"fc", "Gemm", 2},
       {"a", "Add", 2},
       {"pool1", "MaxPool", 1}}};
  amct::config::QuantConfig config;
  try {
    config = amct::config::resolve(
        amct::config::parse_simple_config({reinterpret_cast<const char*>(data), size}, "fuzz"),
        model);
  } catch (const amct::Error&) {
    return 0;
  }
  const std::string text = amct::config::write_json_config(config);
  amct::config::QuantConfig back = amct::config::parse_json_config(text, "written");
  if (back != config) std::abort();
  amct::config::validate(back, model);
  return 0;
}
