#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;
using Settings = std::vector<std::pair<std::string, ModelBuilder::Setting>>;

/// x [2,3] -> Gemm or MatMul c -> BatchNormalization n (4 channels) -> y
struct GemmBnModel : ModelBuilder {
  ir::Node* layer;
  ir::Node* bn;
  GemmBnModel(const std::string& op, const Dims& x, const Dims& w, const Settings& settings = {},
              std::optional<Dims> c = std::nullopt) {
    std::vector<ir::Value*> inputs = {input("x", x), random("w", w)};
    if (c) inputs.push_back(random("b", *c));
    layer = node(op, "c", inputs, "c_out", settings);
    bn = batch_norm("n", layer->output(), 4, "y");
    output(bn);
  }
};

struct GemmCase {
  Dims x, w;
  Settings settings;
  std::optional<Dims> c;
};

TEST(FuseGemmBn, FoldsIntoGemm) {
  const std::int64_t one = 1;
  const GemmCase cases[] = {{{2, 3}, {3, 4}, {}, {}},
                            {{2, 3}, {3, 4}, {}, Dims{4}},
                            {{2, 3}, {4, 3}, {{"transB", one}}, Dims{1, 4}},
                            {{3, 2}, {3, 4}, {{"transA", one}}, Dims{}}};
  for (const auto& [x, w, settings, c] : cases) {
    GemmBnModel build("Gemm", x, w, settings, c);
    EXPECT_EQ(run_checked(build, fuse_gemm_bn({})), 1U);
    EXPECT_EQ(build.operators(), "Gemm");
  }
}

TEST(FuseGemmBn, TurnsTheNormalizationBehindAMatMulIntoAnAdd) {
  GemmBnModel build("MatMul", {2, 3}, {3, 4});
  EXPECT_EQ(run_checked(build, fuse_gemm_bn({})), 1U);
  EXPECT_EQ(build.operators(), "MatMul Add");
  EXPECT_EQ(build.graph().find("y")->producer()->name, "n");
  EXPECT_EQ(build.layer->output()->name(), "c_out");
}

TEST(FuseGemmBn, LeavesWhatIsNotPerColumn) {
  GemmBnModel alpha("Gemm", {2, 3}, {3, 4}, {{"alpha", 2.0F}});
  EXPECT_EQ(run_checked(alpha, fuse_gemm_bn({})), 0U);
  GemmBnModel beta("Gemm", {2, 3}, {3, 4}, {{"beta", 2.0F}}, Dims{4});
  EXPECT_EQ(run_checked(beta, fuse_gemm_bn({})), 0U);
  GemmBnModel idle_beta("Gemm", {2, 3}, {3, 4}, {{"beta", 2.0F}});
  EXPECT_EQ(run_checked(idle_beta, fuse_gemm_bn({})), 0U) << "it would scale the new bias";
  GemmBnModel rows("Gemm", {2, 3}, {3, 4}, {}, Dims{2, 4});
  EXPECT_EQ(run_checked(rows, fuse_gemm_bn({})), 0U);
  // Channels are axis 1, columns axis 2; both have four entries.
  GemmBnModel batched("MatMul", {2, 4, 3}, {3, 4});
  EXPECT_EQ(run_checked(batched, fuse_gemm_bn({})), 0U);
  GemmBnModel unknown("MatMul", {2, 3}, {3, 4});
  unknown.graph().find("x")->type.shape.reset();
  EXPECT_EQ(fuse_gemm_bn({})->run(unknown.model), 0U);
}

TEST(FuseGemmBn, LeavesListedAndExposedNodes) {
  for (const char* name : {"c", "n"}) {
    GemmBnModel listed("Gemm", {2, 3}, {3, 4});
    EXPECT_EQ(run_checked(listed, fuse_gemm_bn({name})), 0U);
  }
  GemmBnModel exposed("Gemm", {2, 3}, {3, 4});
  exposed.output(exposed.layer);
  EXPECT_EQ(run_checked(exposed, fuse_gemm_bn({})), 0U);
}

}  // namespace
}  // namespace amct::passes
