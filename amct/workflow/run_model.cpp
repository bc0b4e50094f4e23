#include "amct/workflow/run_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "amct/base/error.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/lower_deploy.h"
#include "amct/runtime/npy.h"

namespace amct::workflow {
namespace {

/// One folder name per output: harmless characters only, all different.
std::vector<std::string> folder_names(const std::vector<runtime::PortInfo>& outputs) {
  std::set<std::string> used;
  std::vector<std::string> names;
  for (const runtime::PortInfo& port : outputs) {
    std::string name = port.name;
    for (char& c : name)
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
    if (name.find_first_not_of('.') == std::string::npos) name = "output";
    const std::string stem = name;
    for (int i = 1; !used.insert(name).second; ++i) name = fmt::format("{}_{}", stem, i);
    names.push_back(name);
  }
  return names;
}

}  // namespace

ir::Model load_runnable(const std::filesystem::path& path) {
  ir::Model model = onnx::load(path);
  if (passes::is_deploy_model(model)) passes::lower_deploy(model);
  return model;
}

std::unique_ptr<runtime::DataSource> open_model_data(const runtime::DataOptions& options,
                                                     const ir::Model& model,
                                                     std::size_t batch_num) {
  return runtime::open_data(options, runtime::model_inputs(model), batch_num);
}

RunResult run_model(const ir::Model& model, runtime::DataSource& data, std::size_t batch_num,
                    const RunOptions& options) {
  const UsageMeter meter;
  const std::size_t batches = runtime::batches_to_run(data, batch_num);
  const auto executor = runtime::make_onnxruntime_executor(model, options.executor);
  RunResult result;
  result.outputs = executor->outputs();
  result.batches = batches;
  const std::vector<std::string> folders = folder_names(result.outputs);
  for (std::size_t i = 0; i < batches; ++i) {
    const std::vector<ir::Tensor> tensors = executor->run(data.batch(i));
    for (std::size_t k = 0; k < tensors.size() && !options.output_folder.empty(); ++k) {
      result.files.push_back(options.output_folder / folders[k] / fmt::format("{:05}.npy", i));
      runtime::write_npy(result.files.back(), tensors[k]);
    }
    if (options.on_outputs) options.on_outputs(i, result.outputs, tensors);
    report_batch(options.progress, meter, i + 1, batches);
  }
  result.usage = meter.read();
  return result;
}

}  // namespace amct::workflow
