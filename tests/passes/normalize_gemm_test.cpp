#include "pass_fixture.h"

namespace amct::passes {
namespace {

using Dims = std::vector<std::int64_t>;
using Settings = std::vector<std::pair<std::string, ModelBuilder::Setting>>;

/// x [2,3] -> Gemm g (4 columns) -> y
struct GemmModel : ModelBuilder {
  ir::Node* gemm;
  GemmModel(const Dims& w, const Settings& settings, std::optional<Dims> c = std::nullopt,
            const Dims& x = {2, 3}) {
    std::vector<ir::Value*> inputs = {input("x", x), random("w", w)};
    if (c) inputs.push_back(random("b", *c));
    gemm = node("Gemm", "g", inputs, "y", settings);
    output(gemm);
  }
};

TEST(NormalizeGemm, FoldsAlphaBetaAndTransB) {
  GemmModel build({4, 3}, {{"alpha", 2.0F}, {"beta", 0.5F}, {"transB", std::int64_t{1}}}, Dims{4});
  EXPECT_EQ(run_checked(build, normalize_gemm()), 1U);
  EXPECT_TRUE(build.gemm->attributes.empty());
  EXPECT_EQ(build.gemm->input(1)->constant()->dims(), (Dims{3, 4}));
  EXPECT_EQ(build.gemm->input(1)->type.shape->at(0).value, 3);
}

TEST(NormalizeGemm, SpreadsTheBiasOverTheColumns) {
  for (const Dims& c : {Dims{}, Dims{1}, Dims{1, 1}, Dims{1, 4}}) {
    for (const std::int64_t turned : {0, 1}) {
      GemmModel build(turned != 0 ? Dims{4, 3} : Dims{3, 4}, {{"transB", turned}}, c);
      EXPECT_EQ(run_checked(build, normalize_gemm()), 1U);
      EXPECT_EQ(build.gemm->input(2)->constant()->dims(), Dims{4});
    }
  }
}

TEST(NormalizeGemm, LeavesABiasWhoseRowsDiffer) {
  for (const Dims& c : {Dims{2, 4}, Dims{2, 1}}) {
    GemmModel build({3, 4}, {}, c);
    EXPECT_EQ(run_checked(build, normalize_gemm()), 0U);
    GemmModel scaled({3, 4}, {{"beta", 3.0F}}, c);
    EXPECT_EQ(run_checked(scaled, normalize_gemm()), 1U);
    EXPECT_EQ(scaled.gemm->find_attribute("beta"), nullptr);
    EXPECT_EQ(scaled.gemm->input(2)->constant()->dims(), c);
  }
}

TEST(NormalizeGemm, DropsABetaThatScalesNothing) {
  GemmModel build({3, 4}, {{"beta", 0.5F}});
  EXPECT_EQ(run_checked(build, normalize_gemm()), 1U);
  EXPECT_TRUE(build.gemm->attributes.empty());
}

TEST(NormalizeGemm, LeavesTransA) {
  GemmModel build({3, 4}, {{"transA", std::int64_t{1}}}, Dims{4}, {3, 2});
  EXPECT_EQ(run_checked(build, normalize_gemm()), 0U);
}

TEST(NormalizeGemm, LeavesWhatIsNotConstant) {
  GemmModel build({4, 3}, {{"alpha", 2.0F}, {"beta", 0.5F}, {"transB", std::int64_t{1}}}, Dims{4});
  build.gemm->set_input(1, build.input("free", {4, 3}));
  EXPECT_EQ(run_checked(build, normalize_gemm()), 0U);
  GemmModel bias({3, 4}, {{"beta", 0.5F}}, Dims{4});
  bias.gemm->set_input(2, bias.input("free", {4}));
  EXPECT_EQ(run_checked(bias, normalize_gemm()), 0U);
}

TEST(NormalizeGemm, CopiesASharedWeight) {
  GemmModel build({3, 3}, {{"transB", std::int64_t{1}}});
  ir::Node* other =
      build.node("Gemm", "h", {build.graph().find("x"), build.graph().find("w")}, "z");
  build.output(other);
  EXPECT_EQ(run_checked(build, normalize_gemm()), 1U);
  EXPECT_EQ(other->input(1)->name(), "w");
  EXPECT_EQ(build.gemm->input(1)->name(), "w_1");
}

}  // namespace
}  // namespace amct::passes
