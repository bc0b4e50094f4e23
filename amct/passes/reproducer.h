#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "amct/ir/graph.h"

namespace amct::passes {

/// Turns a model into its text form.
using ModelPrinter = std::function<std::string(const ir::Model&)>;

/// Writes "<folder>/<pass>.txt": the pass's name and the model in the text form, laid out as a case
/// of tests/passes whose expected graph is still missing. Returns the file. Throws Error(kIo).
std::filesystem::path write_reproducer(const ir::Model& before, std::string_view pass,
                                       const std::filesystem::path& folder,
                                       const ModelPrinter& print);

}  // namespace amct::passes
