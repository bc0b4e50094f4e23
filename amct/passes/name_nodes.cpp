#include <fmt/core.h>

#include <set>
#include <string>

#include "amct/passes/passes.h"

namespace amct::passes {
namespace {

std::string numbered(const std::string& base, const std::set<std::string>& taken) {
  for (std::size_t i = 1;; ++i) {
    std::string candidate = fmt::format("{}_{}", base, i);
    if (!taken.contains(candidate)) return candidate;
  }
}

class NameNodes final : public Pass {
 public:
  std::string_view name() const override { return "name_nodes"; }

  std::size_t run(ir::Model& model) override {
    std::set<std::string> taken;
    model.graph->for_each_graph([&](ir::Graph& graph) {
      for (const auto& node : graph.nodes()) taken.insert(node->name);
    });
    std::set<std::string> seen;
    std::size_t index = 0;
    std::size_t changes = 0;
    model.graph->for_each_graph([&](ir::Graph& graph) {
      for (const auto& node : graph.nodes()) {
        const std::string indexed = fmt::format("{}_{}", node->op_type, index++);
        if (!node->name.empty() && seen.insert(node->name).second) continue;
        const bool fresh = node->name.empty() && !taken.contains(indexed);
        node->name = fresh ? indexed : numbered(node->name.empty() ? indexed : node->name, taken);
        taken.insert(node->name);
        seen.insert(node->name);
        ++changes;
      }
    });
    return changes;
  }
};

}  // namespace

PassPtr name_nodes() { return std::make_unique<NameNodes>(); }

}  // namespace amct::passes
