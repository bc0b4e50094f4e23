#pragma once

#include "amct/report/run_report.h"

namespace amct::cli {

/// Logs where the models are and, unless `quiet`, prints the table.
void show_report(const report::RunReport& report, bool quiet);

}  // namespace amct::cli
