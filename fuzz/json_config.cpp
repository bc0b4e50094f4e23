// JSON config: hostile text gives an Error; what is accepted is written so that it reads back the
// same, and meets a model without harm.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "amct/base/error.h"
#include "amct/config/json_config.h"
#include "amct/config/simple_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  amct::config::QuantConfig config;
  try {
    config = amct::config::parse_json_config({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const amct::Error&) {
    return 0;
  }
  const std::string text = amct::config::write_json_config(config);
  if (amct::config::parse_json_config(text, "written") != config) std::abort();
  try {
    amct::config::validate(config, {{{"conv1", "Conv", 4, true}, {"fc", "Gemm", 2, false}},
                                    {{"conv1", "Conv", 2}, {"fc", "Gemm", 2}, {"a", "Add", 2}}});
  } catch (const amct::Error&) {
    return 0;
  }
  return 0;
}
