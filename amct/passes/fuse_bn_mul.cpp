#include <utility>

#include "amct/passes/batch_norm.h"
#include "amct/passes/constant_operand.h"
#include "amct/passes/passes.h"
#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

struct BnMul {
  ir::Node* mul;
  ir::Node* bn;
  std::vector<double> gamma;
  std::vector<double> beta;
};

class FuseBnMul final : public PatternPass<BnMul> {
 public:
  explicit FuseBnMul(NodeNames keep) : keep_(std::move(keep)) {}
  std::string_view name() const override { return "fuse_bn_mul"; }

 protected:
  std::optional<BnMul> match(ir::Node& node) const override {
    const auto operand = constant_operand(node, "Mul", ir_version());
    if (!operand || !is_used(*node.output())) return std::nullopt;
    ir::Node* bn = sole_producer(node, operand->variable_index);
    if (bn == nullptr || !read_batch_norm(*bn) || listed(keep_, node) || listed(keep_, *bn))
      return std::nullopt;
    BnMul match{&node, bn, to_double(*float_weight(bn->input(1))),
                to_double(*float_weight(bn->input(2)))};
    const auto factor = per_channel(*operand->constant, known_rank(*bn->output()),
                                    static_cast<std::int64_t>(match.gamma.size()));
    if (!factor) return std::nullopt;
    for (std::size_t c = 0; c < factor->size(); ++c) {
      match.gamma[c] *= (*factor)[c];
      match.beta[c] *= (*factor)[c];
    }
    if (!fits_float(match.gamma) || !fits_float(match.beta)) return std::nullopt;
    return match;
  }

  void rewrite(const BnMul& match) const override {
    const auto channels = static_cast<std::int64_t>(match.gamma.size());
    set_constant_input(*match.bn, 1, to_float_tensor({channels}, match.gamma), "");
    set_constant_input(*match.bn, 2, to_float_tensor({channels}, match.beta), "");
    remove_and_take_output(*match.mul, *match.bn);
  }

 private:
  NodeNames keep_;
};

}  // namespace

PassPtr fuse_bn_mul(NodeNames keep) { return std::make_unique<FuseBnMul>(std::move(keep)); }

}  // namespace amct::passes
