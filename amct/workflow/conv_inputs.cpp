#include "amct/workflow/conv_inputs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "amct/workflow/run_usage.h"

namespace amct::workflow {
namespace {

/// One layer and the engine output that it reads.
struct Observed {
  std::size_t layer = 0;
  std::string input;
  std::size_t output = 0;
  std::shared_ptr<decompose::InputMoments> moments;
};

std::vector<Observed> choose(const ir::Model& model, const passes::ConvLayers& convolutions) {
  std::vector<Observed> chosen;
  for (std::size_t i = 0; i < convolutions.layers.size(); ++i) {
    const decompose::Layer& layer = convolutions.layers[i];
    const ir::Node& node = *convolutions.nodes[i];
    if (!layer.refusal.empty() || node.graph() != model.graph.get()) continue;
    const decompose::Mode mode = decompose::choose_mode(layer.shape).mode;
    if (mode == decompose::Mode::kUnchange) continue;
    chosen.push_back({i, node.input(0)->name(), 0,
                      std::make_shared<decompose::InputMoments>(layer.shape, mode)});
  }
  return chosen;
}

void add(const Observed& observed, const ir::Node& node, const ir::Tensor& input) {
  const std::vector<std::int64_t>& dims = input.dims();
  const decompose::Padding padding = passes::padding_of(node, dims[2], dims[3]);
  const std::vector<float> values = ir::to_float(input);
  observed.moments->add(values, dims[0], dims[2], dims[3], padding);
}

}  // namespace

void observe_inputs(const ir::Model& model, passes::ConvLayers& convolutions,
                    runtime::DataSource& data, std::size_t batch_num,
                    const runtime::ExecutorOptions& executor, const BatchProgress& progress) {
  const UsageMeter meter;
  std::vector<Observed> observed = choose(model, convolutions);
  std::vector<std::string> taps;
  for (const Observed& one : observed) taps.push_back(one.input);
  const auto engine = runtime::make_onnxruntime_executor(model, executor, taps);
  for (Observed& one : observed)
    while (engine->outputs()[one.output].name != one.input) ++one.output;
  const std::size_t batches = runtime::batches_to_run(data, batch_num);
  for (std::size_t i = 0; i < batches; ++i) {
    const std::vector<ir::Tensor> outputs = engine->run(data.batch(i));
    for (const Observed& one : observed)
      add(one, *convolutions.nodes[one.layer], outputs[one.output]);
    report_batch(progress, meter, i + 1, batches);
  }
  for (const Observed& one : observed)
    convolutions.layers[one.layer].input_moments = [moments = one.moments] {
      return moments->lower();
    };
}

}  // namespace amct::workflow
