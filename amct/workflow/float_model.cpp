#include "amct/workflow/float_model.h"

#include <utility>

#include "amct/base/error.h"
#include "amct/passes/eligibility.h"
#include "amct/passes/pass_manager.h"
#include "amct/passes/passes.h"
#include "amct/passes/pipelines.h"

namespace amct::workflow {
namespace {

void refuse_quantized_model(const ir::Model& model) {
  model.graph->for_each_graph([](const ir::Graph& graph) {
    for (const auto& node : graph.nodes())
      if (passes::is_quantized_operator(*node))
        raise(ErrorCode::kUnsupported,
              "node '{}' ({}): the model is already quantized, in a form that the NPU's compiler "
              "does not read; give the float model that it was made from",
              node->label(), node->op_type);
  });
}

}  // namespace

void complete_names(ir::Model& model) {
  passes::Pipeline naming;
  naming.push_back(passes::name_nodes());
  passes::PassManager().run(model, naming);
}

FloatModel prepare_float_model(ir::Model original, bool do_fusion,
                               const std::vector<std::string>& skip_fusion_layers) {
  refuse_quantized_model(original);
  FloatModel model{std::move(original), {}};
  complete_names(model.original);
  model.prepared = model.original.clone();
  passes::PassManager().run(model.prepared,
                            passes::make_prepare_pipeline({do_fusion, skip_fusion_layers}));
  return model;
}

}  // namespace amct::workflow
