#include "amct/passes/reproducer.h"

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/ir/text.h"

namespace amct::passes {

std::filesystem::path write_reproducer(const ir::Model& before, std::string_view pass,
                                       const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / fmt::format("{}.txt", pass);
  write_file(file, fmt::format("pipeline: {}\nnumerics: tolerance\n--- before\n{}", pass,
                               ir::print(before)));
  return file;
}

}  // namespace amct::passes
