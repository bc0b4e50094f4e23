#pragma once

#include <string>

#include "amct/report/run_report.h"

namespace amct::report {

/// One self-contained HTML page: no request leaves it, every name is escaped. At most 64 bars a
/// histogram and 500 layers with histograms (the worst by SQNR), so thousands of layers stay
/// usable.
std::string render_html(const RunReport& report);

}  // namespace amct::report
