#include "amct/workflow/quantized_models.h"

#include <map>
#include <string>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/passes/check_deploy.h"
#include "amct/passes/deploy.h"
#include "amct/passes/fake_quant.h"
#include "amct/passes/quantize_weights.h"
#include "amct/passes/raise_opset.h"

namespace amct::workflow {

void refuse_nothing_to_quantize(const std::vector<passes::SkippedLayer>& skipped) {
  std::map<std::string, std::size_t> reasons;
  for (const passes::SkippedLayer& layer : skipped) ++reasons[layer.reason];
  std::string text;
  for (const auto& [reason, count] : reasons)
    text += fmt::format("{}{} layer(s): {}", text.empty() ? "" : "; ", count, reason);
  raise(ErrorCode::kUnsupported, "no layer of the model can be quantized ({})",
        text.empty() ? "it has no Conv, ConvTranspose, Gemm, MatMul or AveragePool" : text);
}

QuantizedModels quantize_prepared(const ir::Model& prepared, const QuantRequest& request) {
  QuantizedModels result;
  result.plan = passes::make_plan(prepared, request.layers, request.inputs);
  result.plan.outputs = request.outputs;
  for (const passes::SkippedLayer& layer : result.plan.skipped)
    log_warning("layer '{}' stays in float: {}", layer.layer, layer.reason);
  if (result.plan.layers.empty() && result.plan.inputs.empty() && result.plan.outputs.empty()) {
    std::vector<passes::SkippedLayer> all = request.skipped;
    all.insert(all.end(), result.plan.skipped.begin(), result.plan.skipped.end());
    refuse_nothing_to_quantize(all);
  }
  result.fake_quant = prepared.clone();
  passes::insert_fake_quant(result.fake_quant, result.plan);
  result.deploy = prepared.clone();
  for (const std::string& problem : passes::raise_opset(result.deploy, passes::kOldestDeployOpset))
    log_warning("the deploy model keeps opset {}, which the NPU's compiler does not read: {}",
                result.deploy.opset(), problem);
  passes::insert_deploy(result.deploy, result.plan);
  if (result.deploy.opset() > passes::kNewestDeployOpset)
    log_warning("the model has opset {}; the NPU's compiler reads up to opset {}",
                result.deploy.opset(), passes::kNewestDeployOpset);
  return result;
}

}  // namespace amct::workflow
