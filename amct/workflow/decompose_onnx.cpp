#include "amct/workflow/decompose_onnx.h"

#include <algorithm>
#include <map>
#include <utility>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/decompose_conv.h"
#include "amct/passes/pass_manager.h"
#include "amct/passes/pipelines.h"
#include "amct/runtime/data_source.h"
#include "amct/workflow/conv_inputs.h"
#include "amct/workflow/result_files.h"

namespace amct::workflow {
namespace {

constexpr const char* kSuffix = "_decomposed_model.onnx";

/// Names complete and weights constant; nothing is fused.
void prepare(ir::Model& model) {
  passes::Pipeline pipeline;
  for (const char* name : {"name_nodes", "fold_constants"})
    pipeline.push_back(passes::make_pass(name, {}));
  passes::PassManager().run(model, pipeline);
}

ir::Model with_input_shapes(const ir::Model& model, const std::string& input_shape) {
  ir::Model copy = model.clone();
  const std::vector<runtime::PortInfo> inputs = runtime::model_inputs(copy);
  const auto shapes = runtime::parse_input_shape(input_shape, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!shapes[i]) continue;
    std::vector<ir::Dim> dims;
    for (const std::int64_t value : *shapes[i])
      dims.push_back(value >= 0 ? ir::Dim{value, {}} : ir::Dim{});
    copy.graph->find(inputs[i].name)->type.shape = std::move(dims);
  }
  return copy;
}

/// Height times width of the outputs of all main-graph convolutions, as the engine infers them.
std::map<std::string, std::int64_t> infer_positions(const ir::Model& model,
                                                    const DecomposeOnnxOptions& options) {
  std::map<std::string, std::int64_t> positions;
  std::vector<std::string> taps;
  for (const auto& node : model.graph->nodes())
    if (node->op_type == "Conv") taps.push_back(node->output()->name());
  if (taps.empty()) return positions;
  const ir::Model shaped = with_input_shapes(model, options.data.input_shape);
  try {
    runtime::ExecutorOptions executor = options.executor;
    executor.optimization_level = 0;
    const auto engine = runtime::make_onnxruntime_executor(shaped, executor, taps);
    for (const runtime::PortInfo& port : engine->outputs()) {
      const auto& shape = port.type.shape;
      if (shape && shape->size() == 4 && (*shape)[2].value && (*shape)[3].value)
        positions[port.name] = *(*shape)[2].value * *(*shape)[3].value;
    }
  } catch (const Error& error) {
    log_debug("multiplications are counted per output position: {}", error.what());
  }
  return positions;
}

}  // namespace

std::vector<decompose::LayerResult> decompose_onnx(const std::filesystem::path& path,
                                                   const std::string& save_path,
                                                   const DecomposeOnnxOptions& options) {
  if (!options.dry_run) {
    check_writable(save_path);
    refuse_to_overwrite(path, save_path + kSuffix);
  }
  ir::Model model = onnx::load(path);
  prepare(model);
  passes::ConvLayers convolutions =
      passes::list_convolutions(model, infer_positions(model, options));
  if (options.dry_run)
    return decompose::plan_network(convolutions.layers, options.decompose, options.progress);
  if (!options.data.data_dir.empty()) {
    const auto data =
        runtime::open_data(options.data, runtime::model_inputs(model), options.batch_num);
    observe_inputs(model, convolutions, *data, options.batch_num, options.executor,
                   options.batch_progress);
  }
  std::vector<decompose::LayerResult> results =
      decompose::decompose_network(convolutions.layers, options.decompose, options.progress);
  passes::decompose_convolutions(model, convolutions, results);
  ir::verify(*model.graph);
  ResultFiles files(save_path);
  files.add_model(model, kSuffix);
  files.commit();
  return results;
}

}  // namespace amct::workflow
