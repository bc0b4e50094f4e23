#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/constant_operand.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct BnAdd {
  ir::Node* add;
  ir::Node* bn;
  std::vector<double> beta;
};

class FuseBnAdd final : public PatternPass<BnAdd> {
 public:
  explicit FuseBnAdd(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_bn_add"; }

 protected:
  std::optional<BnAdd> match(ir::Node& node) const override {
    const auto operand = constant_operand(node, "Add", ir_version());
    if (!operand || !is_used(*node.output())) return std::nullopt;
    ir::Node* bn = sole_producer(node, operand->variable_index);
    if (bn == nullptr || !read_batch_norm(*bn) || listed(keep_, node) || listed(keep_, *bn))
      return std::nullopt;
    BnAdd match{&node, bn, to_double(*float_weight(bn->input(2)))};
    const auto addend = per_channel(*operand->constant, known_rank(*bn->output()),
                                    static_cast<std::int64_t>(match.beta.size()));
    if (!addend) return std::nullopt;
    for (std::size_t c = 0; c < addend->size(); ++c) match.beta[c] += (*addend)[c];
    if (!fits_float(match.beta)) return std::nullopt;
    return match;
  }

  void rewrite(const BnAdd& match) const override {
    const auto channels = static_cast<std::int64_t>(match.beta.size());
    set_constant_input(*match.bn, 2, to_float_tensor({channels}, match.beta), "");
    remove_and_take_output(*match.add, *match.bn);
  }

 private:
  NodeNames keep_;
};

}  // namespace

PassPtr fuse_bn_add(NodeNames keep) { return std::make_unique<FuseBnAdd>(std::move(keep)); }

}  // namespace amct::passes
