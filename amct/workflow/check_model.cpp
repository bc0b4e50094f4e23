#include "amct/workflow/check_model.h"

#include <fmt/core.h>

#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/check_deploy.h"

namespace amct::workflow {

CheckSummary check_model(const std::filesystem::path& path) {
  CheckSummary summary;
  for (const passes::Finding& finding : passes::check_deploy(onnx::load(path))) {
    const bool error = finding.severity == passes::Severity::kError;
    ++(error ? summary.errors : summary.warnings);
    summary.findings.push_back(fmt::format("{}: {}{}{}", error ? "error" : "warning", finding.node,
                                           finding.node.empty() ? "" : ": ", finding.message));
  }
  return summary;
}

}  // namespace amct::workflow
