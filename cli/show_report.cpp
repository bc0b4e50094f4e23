#include "cli/show_report.h"

#include <cstdio>

#include "amct/base/log.h"
#include "amct/report/terminal.h"
#include "cli/terminal_size.h"

namespace amct::cli {

void show_report(const report::RunReport& report, bool quiet) {
  for (const std::string& file : report.files_written)
    if (file.ends_with(".onnx")) log_info("The model file is saved in {}", file);
  if (quiet) return;
  const std::string table = report::render_table(report, terminal_width(), terminal_has_color());
  std::fwrite(table.data(), 1, table.size(), stdout);
}

}  // namespace amct::cli
