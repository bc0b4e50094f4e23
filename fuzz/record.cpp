// Record file: hostile text gives an Error; what is accepted is written so that it reads back the
// same. Compared as text, since a NaN is not equal to itself.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "amct/base/error.h"
#include "amct/config/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  amct::config::Record record;
  try {
    record = amct::config::parse_record({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const amct::Error&) {
    return 0;
  }
  const std::string text = amct::config::write_record(record);
  if (amct::config::write_record(amct::config::parse_record(text, "written")) != text) std::abort();
  try {
    amct::config::validate_record(record, "fuzz");
  } catch (const amct::Error&) {
    return 0;
  }
  return 0;
}
