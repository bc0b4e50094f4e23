#pragma once

#include <filesystem>
#include <string_view>

#include "amct/ir/graph.h"

namespace amct::passes {

/// Writes "<folder>/<pass>.txt": the pass's name and the model in the text form, laid out as a case
/// of tests/passes whose expected graph is still missing. Returns the file. Throws Error(kIo).
std::filesystem::path write_reproducer(const ir::Model& before, std::string_view pass,
                                       const std::filesystem::path& folder);

}  // namespace amct::passes
