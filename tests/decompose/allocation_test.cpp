#include "amct/decompose/allocation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "amct/base/error.h"
#include "kernels.h"

namespace amct::decompose {
namespace {

using namespace amct::decompose::test;

Candidate candidate(double power, std::int64_t per_rank, std::int64_t as_it_is, int n = 96) {
  Candidate c{{}, as_it_is, per_rank};
  for (int i = 1; i <= n; ++i) c.squares.push_back(std::pow(i, -power));
  return c;
}

double error_of(const Candidate& c, std::int64_t rank) {
  if (rank == 0) return 0;
  double all = 0;
  double lost = 0;
  for (std::size_t i = 0; i < c.squares.size(); ++i) {
    all += c.squares[i];
    if (static_cast<std::int64_t>(i) >= rank) lost += c.squares[i];
  }
  return lost / all;
}

std::int64_t cost_of(const Candidate& c, std::int64_t rank) {
  return rank == 0 ? c.cost_as_it_is : rank * c.cost_per_rank;
}

// Every combination of ranks.
double least_error(const std::vector<Candidate>& all, std::size_t first, std::int64_t budget) {
  if (budget < 0) return 1e9;
  if (first == all.size()) return 0;
  double best = 1e9;
  for (std::int64_t rank = 0; rank <= std::ssize(all[first].squares); rank += 16) {
    best = std::min(best, error_of(all[first], rank) +
                              least_error(all, first + 1, budget - cost_of(all[first], rank)));
  }
  return best;
}

TEST(Allocation, IsNearTheBestOfAllCombinations) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> power(0, 3);
  std::uniform_int_distribution<std::int64_t> cost(1, 20);
  for (int round = 0; round < 30; ++round) {
    std::vector<Candidate> all;
    std::int64_t total = 0;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t per_rank = cost(random);
      all.push_back(candidate(power(random), per_rank, per_rank * 70));
      total += all.back().cost_as_it_is;
    }
    for (const double share : {0.3, 0.5, 0.8, 1.0}) {
      const auto budget = static_cast<std::int64_t>(share * static_cast<double>(total));
      const auto ranks = allocate_ranks(all, budget);
      ASSERT_TRUE(ranks);
      double error = 0;
      std::int64_t spent = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        error += error_of(all[i], (*ranks)[i]);
        spent += cost_of(all[i], (*ranks)[i]);
      }
      EXPECT_LE(spent, budget);
      EXPECT_LE(error, least_error(all, 0, budget) + 0.15) << share;
      if (share == 1.0) {
        EXPECT_EQ(error, 0);
      }
    }
  }
}

TEST(Allocation, GivesMoreToTheKernelThatNeedsMore) {
  const auto ranks = allocate_ranks({candidate(0.5, 10, 1000), candidate(3, 10, 1000)}, 1200);
  ASSERT_TRUE(ranks);
  EXPECT_TRUE((*ranks)[0] == 0 || (*ranks)[0] > (*ranks)[1]);
}

TEST(Allocation, RefusesABudgetBelowTheSmallestRanks) {
  const std::vector<Candidate> all{candidate(1, 10, 1000), candidate(1, 5, 1000)};
  EXPECT_EQ(smallest_cost(all), 240);
  EXPECT_FALSE(allocate_ranks(all, 239));
  EXPECT_EQ(allocate_ranks(all, 240), (std::vector<std::int64_t>{16, 16}));
}

std::vector<Layer> small_network() {
  std::vector<Layer> layers;
  layers.push_back(layer_of("stem", {32, 3, 3, 3}, std::vector<float>{}));
  for (unsigned i = 0; i < 3; ++i) {
    const ConvShape shape{64 + 16 * i, 64, 3, 3};
    layers.push_back(layer_of("conv" + std::to_string(i), shape, he_kernel<float>(shape, i)));
    layers.back().output_positions = 100 >> i;
  }
  layers[0].output_positions = 400;
  layers.push_back(layers.back());
  layers[3].weight_id = layers[4].weight_id = "shared";
  return layers;
}

TEST(Budget, OfTheWholeNetworkIsKept) {
  const std::vector<Layer> layers = small_network();
  for (const RankRule rule : {RankRule::kMacs, RankRule::kParams}) {
    double last_error = 1e9;
    for (const double share : {0.25, 0.4, 0.7, 1.0}) {
      Options options;
      options.rule = rule;
      options.value = share;
      const auto results = decompose_network(layers, options);
      double before = 0;
      double after = 0;
      double error = 0;
      for (std::size_t i = 0; i < results.size(); ++i) {
        // The last layer's weights are those of the one before.
        if (rule == RankRule::kParams && i == 4) continue;
        const auto cost = [&](const Cost& c) {
          return static_cast<double>(rule == RankRule::kMacs ? c.macs : c.params);
        };
        before += cost(results[i].before);
        after += cost(results[i].after);
        error += results[i].relative_error * results[i].relative_error;
      }
      EXPECT_LE(after, share * before);
      EXPECT_GE(after, 0.8 * share * before);
      EXPECT_LE(error, last_error);
      last_error = error;
    }
    EXPECT_EQ(last_error, 0);
  }
}

TEST(Budget, ThatCannotBeMetIsRefusedWithWhatCan) {
  Options options;
  options.rule = RankRule::kMacs;
  options.value = 0.01;
  try {
    decompose_network(small_network(), options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kUsage);
    EXPECT_NE(std::string(e.what()).find("multiplications"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace amct::decompose
