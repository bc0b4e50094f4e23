// Parser of the IR's text form: hostile text gives an Error; what is accepted prints to a text that
// parses to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "amct/base/error.h"
#include "amct/ir/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  amct::ir::Model model;
  try {
    model = amct::ir::parse_text({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const amct::Error&) {
    return 0;
  }
  // Generated data would be printed in full: only what the text spells out.
  const std::string text = amct::ir::print(model);
  if (amct::ir::print(amct::ir::parse_text(text, "printed")) != text &&
      text.find("elided(") == std::string::npos)
    std::abort();
  return 0;
}
