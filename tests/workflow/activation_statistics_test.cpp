#include "amct/workflow/activation_statistics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <random>

#include "amct/base/error.h"
#include "tests/support/models.h"
#include "tests/support/warnings.h"

namespace amct::workflow {
namespace {

using ir::DataType;
using ir::Tensor;
using runtime::Feed;
using test::Builder;

ActivationOptions ifmr(bool asymmetric = true) {
  ActivationOptions options;
  options.asymmetric = asymmetric;
  return options;
}

ActivationOptions hfmg() {
  ActivationOptions options;
  options.algorithm = HfmgOptions{};
  return options;
}

Tensor noise(std::vector<std::int64_t> dims, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.2F, 1.5F);
  std::vector<float> values(static_cast<std::size_t>(ir::element_count(dims)));
  for (float& value : values) value = normal(engine);
  return Tensor::of<float>(std::move(dims), values);
}

/// x -> Relu -> r -> Add(x) -> s -> Sqrt -> y; every shape is free.
Builder chain() {
  Builder b;
  auto* x = b.input("x", DataType::kFloat, {"n", "c", "h", "w"});
  auto* r = b.node("Relu", {x}, "r");
  auto* s = b.node("Add", {r, x}, "s");
  b.output(b.node("Sqrt", {s}, "y"), DataType::kFloat, {"n", "c", "h", "w"});
  return b;
}

void expect_same(const quant::ActivationResult& a, const quant::ActivationResult& b) {
  EXPECT_EQ(static_cast<int>(a.outcome), static_cast<int>(b.outcome));
  EXPECT_EQ(a.factor, b.factor);
  EXPECT_EQ(a.observed_min, b.observed_min);
  EXPECT_EQ(a.observed_max, b.observed_max);
  EXPECT_EQ(a.finite_count, b.finite_count);
  EXPECT_EQ(a.nonfinite_count, b.nonfinite_count);
  EXPECT_EQ(a.exact, b.exact);
}

/// One thread, one batch after the other, the values computed by hand.
std::vector<quant::ActivationResult> reference(const std::vector<ObservedTensor>& wanted,
                                               const std::vector<Feed>& batches) {
  std::vector<quant::ActivationResult> results;
  for (const ObservedTensor& tensor : wanted) {
    const auto observer = quant::make_observer(tensor.options);
    for (const Feed& feed : batches) {
      std::vector<float> values = ir::to_float(feed[0].second);
      for (float& x : values) {
        const float r = std::max(x, 0.0F);
        const float s = r + x;
        if (tensor.name == "r") x = r;
        if (tensor.name == "s") x = s;
        if (tensor.name == "y") x = std::sqrt(s);
      }
      observer->observe(values);
    }
    results.push_back(observer->finish(tensor.options.num_bits, tensor.options.asymmetric));
  }
  return results;
}

const std::vector<ObservedTensor> kWanted = {
    {"x", ifmr()}, {"s", hfmg()}, {"r", ifmr(false)}, {"s", ifmr()}, {"r", hfmg()}};

TEST(ActivationStatistics, EqualASingleThreadedReferenceForEveryNumberOfThreads) {
  Builder b = chain();
  std::vector<Feed> batches;
  for (unsigned i = 0; i < 7; ++i) batches.push_back({{"x", noise({2, 3, 16, 16}, i)}});
  const auto expected = reference(kWanted, batches);
  for (const int threads : {1, 2, 3}) {
    CollectOptions options;
    options.executor.threads = threads;
    options.histogram_bins = 32;
    std::vector<std::size_t> done;
    options.progress = [&](std::size_t i, std::size_t total, double left) {
      done.push_back(i);
      EXPECT_EQ(total, 7U);
      EXPECT_GE(left, 0.0);
    };
    const auto source = runtime::make_memory_source(batches);
    const CollectedStatistics statistics = collect(b.model, kWanted, *source, 0, options);
    ASSERT_EQ(statistics.tensors.size(), kWanted.size());
    for (std::size_t i = 0; i < kWanted.size(); ++i) {
      EXPECT_EQ(statistics.tensors[i].tensor.name, kWanted[i].name);
      expect_same(statistics.tensors[i].result, expected[i]);
      EXPECT_EQ(statistics.tensors[i].histogram.counts.size(), 32U);
    }
    EXPECT_EQ(done, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7}));
    EXPECT_GT(statistics.usage.peak_bytes, 0U);
    EXPECT_GT(statistics.usage.seconds, 0.0);
  }
}

TEST(ActivationStatistics, ItemsOfDifferentShapesWorkWithEveryAlgorithm) {
  Builder b = chain();
  const std::vector<Feed> batches = {{{"x", noise({1, 3, 8, 8}, 1)}},
                                     {{"x", noise({2, 3, 10, 6}, 2)}},
                                     {{"x", noise({1, 3, 16, 16}, 3)}}};
  const auto expected = reference(kWanted, batches);
  const auto source = runtime::make_memory_source(batches);
  const auto statistics = collect(b.model, kWanted, *source, 3);
  for (std::size_t i = 0; i < kWanted.size(); ++i)
    expect_same(statistics.tensors[i].result, expected[i]);
  EXPECT_EQ(statistics.tensors[0].result.finite_count, 3U * (64 + 120 + 256));
}

/// Counts how many of its batches are alive at once.
class CountingSource final : public runtime::DataSource {
 public:
  explicit CountingSource(std::size_t batches) : batches_(batches) {}
  std::size_t batches() const override { return batches_; }
  std::size_t most() const { return *most_; }
  Feed batch(std::size_t i) override {
    struct Counted {
      Counted(Tensor values, std::shared_ptr<std::atomic<std::size_t>> count)
          : tensor(std::move(values)), alive(std::move(count)) {}
      Counted(const Counted&) = delete;
      Counted& operator=(const Counted&) = delete;
      ~Counted() { --*alive; }
      Tensor tensor;
      std::shared_ptr<std::atomic<std::size_t>> alive;
    };
    auto owner = std::make_shared<Counted>(noise({1, 1, 4, 4}, static_cast<unsigned>(i)), alive_);
    const Tensor& values = owner->tensor;
    *most_ = std::max(*most_, ++*alive_);
    return {{"x", Tensor(DataType::kFloat, values.dims(), owner, values.bytes())}};
  }

 private:
  std::size_t batches_;
  std::shared_ptr<std::atomic<std::size_t>> alive_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::shared_ptr<std::size_t> most_ = std::make_shared<std::size_t>(0);
};

TEST(ActivationStatistics, TwoBatchesAtMostAreInMemoryHoweverManyThereAre) {
  Builder b = chain();
  for (const std::size_t batches : {std::size_t{1}, std::size_t{32}, std::size_t{256}}) {
    CountingSource source(batches);
    const auto statistics = collect(b.model, kWanted, source, 0);
    EXPECT_EQ(statistics.tensors[0].result.finite_count, 16 * batches);
    EXPECT_LE(source.most(), 2U);
  }
}

TEST(ActivationStatistics, UsesOnlyTheWantedNumberOfBatches) {
  Builder b = chain();
  std::vector<Feed> batches;
  for (unsigned i = 0; i < 4; ++i) batches.push_back({{"x", noise({1, 1, 4, 4}, i)}});
  const auto source = runtime::make_memory_source(batches);
  EXPECT_EQ(collect(b.model, kWanted, *source, 2).tensors[0].result.finite_count, 32U);
  EXPECT_THROW(collect(b.model, kWanted, *source, 5), Error);
  const auto none = runtime::make_memory_source({});
  EXPECT_THROW(collect(b.model, kWanted, *none, 0), Error);
}

TEST(ActivationStatistics, NonFiniteValuesAreIgnoredWithOneWarning) {
  Builder b = chain();
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {1.0F, -2.0F, inf, 0.5F};  // sqrt(-2) is NaN, sqrt(inf) inf
  const std::vector<Feed> batches(3, Feed{{"x", Tensor::of<float>({1, 1, 2, 2}, values)}});
  const test::Warnings warnings;
  const auto source = runtime::make_memory_source(batches);
  const auto statistics =
      collect(b.model, {{"y", ifmr()}, {"x", ifmr()}, {"y", hfmg()}}, *source, 0);
  EXPECT_EQ(warnings.lines,
            (std::vector<std::string>{
                "NaN or infinite values were ignored in 2 tensor(s): 'x' (3), 'y' (6)"}));
  EXPECT_TRUE(statistics.tensors[0].result.ok());
  EXPECT_EQ(statistics.tensors[0].result.finite_count, 6U);
  EXPECT_EQ(statistics.tensors[1].result.observed_max, 1.0F);
  EXPECT_TRUE(std::isfinite(statistics.tensors[2].result.factor.scale));
}

TEST(ActivationStatistics, AFailureOfTheEngineReachesTheCallerAndEndsCleanly) {
  Builder b = chain();
  const std::vector<Feed> batches = {{{"x", noise({1, 1, 4, 4}, 1)}}, {{"x", noise({4}, 1)}}};
  const auto source = runtime::make_memory_source(batches);
  EXPECT_THROW(collect(b.model, kWanted, *source, 0), Error);
}

TEST(ActivationStatistics, TensorsThatAreNoFloatingPointAreRefused) {
  Builder b;
  auto* x = b.input("x", DataType::kInt32, {"2"});
  b.output(b.node("Neg", {x}, "y"), DataType::kInt32, {"2"});
  const auto source = runtime::make_memory_source({{{"x", Tensor::zeros(DataType::kInt32, {2})}}});
  EXPECT_THROW(collect(b.model, {{"y", ifmr()}}, *source, 0), Error);
}

}  // namespace
}  // namespace amct::workflow
