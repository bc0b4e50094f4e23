#include <algorithm>

#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct Copy {
  ir::Node* node;
  /// The output's name is needed: the producer of the input takes it over.
  bool keep_output;
};

class EliminateIdentity final : public PatternPass<Copy> {
 public:
  std::string_view name() const override { return "eliminate_identity"; }

 protected:
  std::optional<Copy> match(ir::Node& node) const override {
    if (!is_op(node, "Identity") && !is_inference_dropout(node)) return std::nullopt;
    const ir::Value* input = node.input(0);
    const ir::Value* output = node.output();
    if (input == nullptr || output == nullptr || output->name().empty()) return std::nullopt;
    if (!is_exposed(*output)) return Copy{&node, false};
    // Both names are promised, or nobody in this graph could produce the output instead.
    const bool movable =
        input->producer() != nullptr && input->graph() == node.graph() && !is_exposed(*input);
    return movable ? std::optional(Copy{&node, true}) : std::nullopt;
  }

  void rewrite(const Copy& match) const override {
    ir::Value* input = match.node->input(0);
    ir::Value* output = match.node->output();
    if (!match.keep_output) {
      ir::Graph::replace_uses(output, input);
      remove_with_constants(*match.node);
      return;
    }
    ir::Graph& graph = *match.node->graph();
    ir::Node* producer = input->producer();
    const std::size_t index = input->producer_index();
    remove_with_constants(*match.node);
    ir::Graph::replace_uses(input, output);
    graph.give_producer(output, producer, index);
  }

 private:
  bool is_inference_dropout(const ir::Node& node) const {
    if (!is_op(node, "Dropout")) return false;
    // Before operator set 7 an attribute chose the mode.
    if (opset() < 7 && node.attribute_int("is_test", 0) == 0) return false;
    const auto read = [](const ir::Value* output) {
      return !output->name().empty() && is_used(*output);
    };
    if (std::any_of(node.outputs().begin() + 1, node.outputs().end(), read)) return false;
    const ir::Value* training = node.input(2);
    if (training == nullptr) return true;
    const ir::Tensor* flag = training->constant();
    return flag != nullptr && flag->type() == ir::DataType::kBool && flag->size() == 1 &&
           flag->bytes().front() == std::byte{0} &&
           !(ir_version() >= 4 && training->is_graph_input());
  }
};

}  // namespace

PassPtr eliminate_identity() { return std::make_unique<EliminateIdentity>(); }

}  // namespace amct::passes
