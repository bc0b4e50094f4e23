#pragma once

#include <string>

#include "amct/report/run_report.h"

namespace amct::report {

/// The run as text for a terminal: summary, counts, the worst layers by SQNR, layers left in float
/// by reason, sizes, files. Lines have at most `width` columns (at least 40) except for paths,
/// which are never cut; control characters of names are shown as '?'. `color` adds ANSI colours.
std::string render_table(const RunReport& report, int width = 100, bool color = false);

}  // namespace amct::report
