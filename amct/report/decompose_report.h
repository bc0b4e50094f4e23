#pragma once

#include <span>
#include <string>

#include "amct/decompose/network.h"

namespace amct::report {

/// What decomposition did (or would do, `dry_run`) as text for a terminal: each layer with kernel,
/// mode, rank, multiplications and weights before and after, the relative errors of the kernel and,
/// with data, of the output; layers left alone by reason; totals. Lines have at most `width`
/// columns (at least 100).
std::string render_decomposition(std::span<const decompose::LayerResult> layers, bool dry_run,
                                 int width = 100);

/// The same as JSON, one object per layer, with totals.
std::string decomposition_json(std::span<const decompose::LayerResult> layers);

}  // namespace amct::report
