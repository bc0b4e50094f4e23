#include <algorithm>
#include <cstdint>

#include "amct/passes/evaluate.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

constexpr std::uint64_t kFreeBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kGrowth = 4;

class FoldConstants final : public Pass {
 public:
  std::string_view name() const override { return "fold_constants"; }

  std::size_t run(ir::Model& model) override {
    std::uint64_t budget = kFreeBytes;
    model.graph->for_each_graph([&](const ir::Graph& graph) {
      for (const ir::Value* value : graph.constants())
        if (value->constant() != nullptr) budget += kGrowth * value->constant()->bytes().size();
    });
    std::size_t changes = 0;
    model.graph->for_each_graph([&](ir::Graph& graph) {
      for (ir::Node* node : graph.node_list()) {
        auto folded = match(*node, model, budget);
        if (!folded) continue;
        budget -= std::min<std::uint64_t>(budget, folded->bytes().size());
        rewrite(*node, std::move(*folded));
        ++changes;
      }
    });
    if (changes > 0) allow_plain_initializers(model);
    return changes;
  }

 private:
  static std::optional<ir::Tensor> match(const ir::Node& node, const ir::Model& model,
                                         std::uint64_t budget) {
    if (node.outputs().size() != 1 || node.output()->name().empty() ||
        node.output()->uses().empty() || is_exposed(*node.output()))
      return std::nullopt;
    std::vector<const ir::Tensor*> inputs;
    for (const ir::Value* input : node.inputs()) {
      const bool replaceable = input != nullptr && input->is_graph_input() && model.ir_version >= 4;
      if (input != nullptr && (input->constant() == nullptr || replaceable)) return std::nullopt;
      inputs.push_back(input != nullptr ? input->constant() : nullptr);
    }
    return evaluate(node, inputs, model.opset(), budget);
  }

  static void rewrite(ir::Node& node, ir::Tensor tensor) {
    ir::Value* output = node.output();
    remove_with_constants(node);
    replace_constant(*output, std::move(tensor));
  }
};

}  // namespace

PassPtr fold_constants() { return std::make_unique<FoldConstants>(); }

}  // namespace amct::passes
