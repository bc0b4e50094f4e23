#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "amct/kernels/range.h"
#include "amct/quant/activation_observer.h"
#include "amct/quant/arq.h"
#include "amct/quant/factor.h"
#include "amct/quant/range_histogram.h"
#include "golden.h"

// Factors that the original computes, for the algorithms that have to agree with it.
namespace amct::quant {
namespace {

using nlohmann::json;

ActivationOptions options_of(const json& c) {
  const json& p = c.at("params");
  ActivationOptions o;
  o.num_bits = p.at("num_bits");
  o.asymmetric = p.at("asymmetric");
  if (p.contains("num_of_bins")) {
    o.algorithm = HfmgOptions{p.at("num_of_bins")};
    return o;
  }
  IfmrOptions ifmr;
  ifmr.max_percentile = p.at("max_percentile");
  ifmr.min_percentile = p.at("min_percentile");
  ifmr.search_range_start = p.at("search_range").at(0);
  ifmr.search_range_end = p.at("search_range").at(1);
  ifmr.search_step = p.at("search_step");
  o.algorithm = ifmr;
  return o;
}

ActivationResult run(const json& c, std::vector<float>& all) {
  const ActivationOptions o = options_of(c);
  const auto observer = make_observer(o);
  for (const json& file : c.at("data")) {
    const auto batch = test::load_npy(file);
    observer->observe(batch);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return observer->finish(o.num_bits, o.asymmetric);
}

bool same_factor(const json& expected, const QuantFactor& f) {
  if (!expected.contains("scale")) return false;
  const double scale = expected.at("scale");
  return std::fabs(double{f.scale} - scale) <= 2e-6 * scale && expected.at("offset") == f.offset;
}

// Whether one of the originals that the case calls right gives this factor.
bool accepted(const json& c, const QuantFactor& f) {
  if (c.contains("correct")) return same_factor(c.at("correct"), f);
  for (const char* who : {"py", "cpp"}) {
    const bool right = !c.contains("accept") ||
                       std::ranges::find(c.at("accept"), json(who)) != c.at("accept").end();
    if (right && same_factor(c.at(who), f)) return true;
  }
  return false;
}

bool accepts_error(const json& c) {
  return c.contains("accept") &&
         std::ranges::find(c.at("accept"), json("error")) != c.at("accept").end();
}

// Mean squared error in double of the search's own model: no offset, no saturation beyond the clip.
double ifmr_loss(const std::vector<float>& x, const QuantFactor& f, const json& p, double low) {
  const int bits = p.at("num_bits");
  const bool asymmetric = p.at("asymmetric");
  const double s = f.scale;
  double clip_min = low;
  double clip_max = low + s * (std::ldexp(1.0, bits) - 1.0);
  double other_end = clip_max;
  if (!asymmetric) {
    clip_max = s * (std::ldexp(1.0, bits - 1) - 1.0);
    other_end = s * std::ldexp(1.0, bits - 1);
  }
  const auto loss = [&](double lo, double hi) {
    double sum = 0.0;
    for (const float v : x) {
      const double clipped = std::clamp(double{v}, lo, hi);
      const double e = std::nearbyint(clipped / s) * s - double{v};
      sum += e * e;
    }
    return sum / static_cast<double>(x.size());
  };
  if (asymmetric) return loss(clip_min, clip_max);
  return std::min(loss(-clip_max, clip_max), loss(-other_end, other_end));
}

TEST(Golden, IfmrAgreesWithTheOriginal) {
  const json cases = test::load_cases("ifmr");
  ASSERT_EQ(cases.size(), 137U);
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("id").get<std::string>());
    std::vector<float> x;
    const ActivationResult r = run(c, x);
    if (c.value("expected", "") == "error") {
      // The original refuses NaN and infinities; here they are left out and counted.
      std::vector<float> finite(x.size());
      finite.resize(kernels::copy_finite(x, finite.data()));
      EXPECT_EQ(r.nonfinite_count, x.size() - finite.size());
      EXPECT_GT(r.nonfinite_count, 0U);
      const ActivationOptions o = options_of(c);
      const auto clean = make_observer(o);
      clean->observe(finite);
      EXPECT_EQ(r.factor, clean->finish(o.num_bits, o.asymmetric).factor);
      continue;
    }
    if (accepts_error(c)) {
      EXPECT_TRUE(r.outcome == ActivationOutcome::kScaleTooLarge || accepted(c, r.factor));
      EXPECT_EQ(r.ok(), r.factor.scale <= kMaxScale);
      continue;
    }
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(r.exact);
    if (accepted(c, r.factor)) continue;
    const double minimum = c.at("py").at("loss_exact_min");
    const double low = std::min<double>(0.0, *std::ranges::min_element(x));
    const double tie = c.at("near_tie") ? double{c.at("py").at("loss")} : 0.0;
    EXPECT_LE(ifmr_loss(x, r.factor, c.at("params"), low), std::max(minimum * (1 + 1e-5), tie))
        << "scale " << r.factor.scale << " offset " << r.factor.offset << " expected "
        << c.at("py").dump();
  }
}

TEST(Golden, HfmgAgreesWithTheOriginal) {
  const json cases = test::load_cases("hfmg");
  ASSERT_EQ(cases.size(), 84U);
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("id").get<std::string>());
    std::vector<float> x;
    const ActivationResult r = run(c, x);
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(accepted(c, r.factor))
        << "scale " << r.factor.scale << " offset " << r.factor.offset << " loss "
        << r.loss * static_cast<double>(x.size()) << " expected " << c.at("py").dump();
  }
}

TEST(Golden, HfmgMergesBatchesAsTheOriginal) {
  std::size_t compared = 0;
  for (const json& c : test::load_cases("hfmg")) {
    if (c.at("py").at("hist_file").is_null()) continue;
    SCOPED_TRACE(c.at("id").get<std::string>());
    RangeHistogram h(c.at("params").at("num_of_bins").get<std::size_t>());
    for (const json& file : c.at("data")) {
      const auto batch = test::load_npy(file);
      const auto range = kernels::finite_range(batch);
      h.add(batch, range.min, range.max);
    }
    const auto expected = test::load_npy(c.at("py").at("hist_file"));
    ASSERT_EQ(expected.size(), h.bins());
    // A value on the edge of two bins may stand on either side (x / w or x * (1 / w) in float).
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < h.bins(); ++i) {
      const auto wanted = static_cast<std::uint64_t>(expected[i]);
      moved += std::max(h.counts()[i], wanted) - std::min(h.counts()[i], wanted);
    }
    EXPECT_LE(moved, 8U) << "of " << h.total();
    ++compared;
  }
  EXPECT_EQ(compared, 18U);
}

WeightLayout layout_of(const json& c) {
  const auto shape = c.at("shape").get<std::vector<std::size_t>>();
  std::size_t all = 1;
  for (const std::size_t d : shape) all *= d;
  if (!c.at("channel_wise")) return {1, 1, 1, all};
  if (c.at("layout").get<std::string>().starts_with("deconv")) {
    const std::size_t groups = c.at("group");
    return {groups, shape[0] / groups, shape[1], all / shape[0] / shape[1]};
  }
  return {1, 1, shape[0], all / shape[0]};
}

TEST(Golden, ArqAgreesWithTheOriginal) {
  const json cases = test::load_cases("arq");
  ASSERT_EQ(cases.size(), 104U);
  for (const json& c : cases) {
    SCOPED_TRACE(c.at("id").get<std::string>());
    const auto w = test::load_npy(c.at("weight"));
    const WeightLayout layout = layout_of(c);
    const int bits = c.at("num_bits");
    std::vector<QuantFactor> factors;
    if (c.at("with_offset")) {
      factors = arq_factors_with_offset(w, layout, bits);
    } else {
      for (const float s : arq_scales(w, layout, bits)) factors.push_back({s, 0});
    }
    const json& py = c.at("py");
    ASSERT_EQ(factors.size(), py.at("scale").size());
    for (std::size_t i = 0; i < factors.size(); ++i) {
      const double scale = py.at("scale")[i];
      EXPECT_NEAR(double{factors[i].scale}, scale, 2e-6 * scale) << i;
      EXPECT_EQ(factors[i].offset, py.at("offset")[i].get<int>()) << i;
    }
    std::vector<std::int8_t> q(w.size());
    quantize_weight(w, layout, factors, bits, q);
    const auto expected = test::load_npy(py.at("int8"));
    ASSERT_EQ(expected.size(), q.size());
    std::size_t different = 0;
    for (std::size_t i = 0; i < q.size(); ++i) different += static_cast<float>(q[i]) != expected[i];
    EXPECT_EQ(different, 0U);
  }
}

}  // namespace
}  // namespace amct::quant
