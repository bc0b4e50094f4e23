#pragma once

#include <optional>
#include <string>

#include "amct/base/quant_options.h"

namespace amct::config {

/// Returns what is wrong between the search fields: start < end, and step at most their distance.
/// Each field alone must be in range already.
std::optional<std::string> search_violation(const IfmrOptions& options);

}  // namespace amct::config
