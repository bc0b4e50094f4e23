// ONNX parser: hostile bytes give an Error, and what is accepted is a sound graph that can be
// written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "amct/base/error.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/ir/text.h"

namespace {

constexpr std::uint64_t kInline = std::numeric_limits<std::uint64_t>::max();

void check_round_trip(const amct::ir::Model& model) {
  const std::string bytes = amct::onnx::serialize(model, kInline, {}).bytes;
  const amct::ir::Model again = amct::onnx::parse(bytes, "written");
  amct::ir::verify(*again.graph);
  if (amct::onnx::serialize(again, kInline, {}).bytes != bytes) std::abort();
}

void check_text(const amct::ir::Model& model) {
  const auto all = amct::ir::PrintOptions::everything();
  const std::string text = amct::ir::print(model, all);
  if (amct::ir::print(amct::ir::parse_text(text, "printed"), all) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  amct::ir::Model model;
  try {
    model = amct::onnx::parse({reinterpret_cast<const char*>(data), size}, "fuzz",
                              "/nonexistent-folder");
  } catch (const amct::Error&) {
    return 0;
  }
  amct::ir::verify(*model.graph);
  check_round_trip(model);
  check_text(model);
  return 0;
}
