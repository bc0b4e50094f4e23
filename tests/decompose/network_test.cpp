#include "amct/decompose/network.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "amct/base/error.h"
#include "kernels.h"

namespace amct::decompose {
namespace {

using namespace amct::decompose::test;

const ConvShape kShape{64, 64, 3, 3};

Options rule(RankRule r, double value) {
  Options o;
  o.rule = r;
  o.value = value;
  return o;
}

std::string message_of(const std::vector<Layer>& layers, const Options& options, ErrorCode code) {
  try {
    decompose_network(layers, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Network, LeavesAloneWithAReason) {
  std::vector<Layer> layers;
  layers.push_back(layer_of("good", kShape, he_kernel<float>(kShape, 1)));
  layers.push_back(layer_of("small", {32, 64, 3, 3}, std::vector<float>{}));
  layers.push_back(layer_of("refused", kShape, std::vector<float>{}));
  layers.back().refusal = "its weight is computed by the graph";
  layers.push_back(layer_of("head.0", kShape, std::vector<float>{}));
  layers.push_back(layer_of("head.12", kShape, std::vector<float>{}));
  layers.push_back(layer_of("zero", kShape, std::vector<float>(64 * 64 * 9)));
  Options options;
  options.skip = {"hea?.*", "nothing"};
  const auto results = decompose_network(layers, options);
  ASSERT_EQ(results.size(), layers.size());
  EXPECT_EQ(results[0].reason, "");
  EXPECT_EQ(results[0].rank, 32);
  EXPECT_EQ(results[0].full_rank, 192);
  EXPECT_TRUE(results[0].factors);
  EXPECT_NE(results[1].reason.find("too few"), std::string::npos);
  EXPECT_EQ(results[2].reason, "its weight is computed by the graph");
  EXPECT_EQ(results[3].reason, "it is on the list of layers to skip");
  EXPECT_EQ(results[4].reason, results[3].reason);
  EXPECT_EQ(results[5].reason, "zero kernel");
  for (std::size_t i = 1; i < results.size(); ++i) {
    EXPECT_EQ(results[i].name, layers[i].name);
    EXPECT_EQ(results[i].mode, Mode::kUnchange);
    EXPECT_FALSE(results[i].factors);
    EXPECT_EQ(results[i].after.macs, results[i].before.macs);
  }
}

TEST(Network, RefusesKernelsThatAreNotFiniteByName) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place : {0UL, 20000UL, 64UL * 64 * 9 - 1}) {
      std::vector<float> kernel = he_kernel<float>(kShape, 1);
      kernel[place] = bad;
      const auto message =
          message_of({layer_of("body.conv3", kShape, kernel)}, {}, ErrorCode::kInvalidModel);
      EXPECT_NE(message.find("'body.conv3'"), std::string::npos) << message;
      const std::vector<double> wide(kernel.begin(), kernel.end());
      message_of({layer_of("body.conv3", kShape, wide)}, {}, ErrorCode::kInvalidModel);
    }
  }
  const auto message = message_of({layer_of("short", kShape, std::vector<float>(7, 1.0F))}, {},
                                  ErrorCode::kInvalidModel);
  EXPECT_NE(message.find("'short': its kernel has 7 values"), std::string::npos) << message;
}

TEST(Network, RefusesOptionsOutOfRange) {
  const std::vector<Layer> none;
  for (const double value : {0.0, -1.0, 1.5, std::nan("")}) {
    for (const RankRule r :
         {RankRule::kRatio, RankRule::kEnergy, RankRule::kMacs, RankRule::kParams}) {
      message_of(none, rule(r, value), ErrorCode::kUsage);
    }
    message_of(none, rule(RankRule::kRank, value), ErrorCode::kUsage);
  }
  Options options;
  options.min_speedup = -1;
  message_of(none, options, ErrorCode::kUsage);
  EXPECT_TRUE(decompose_network(none, {}).empty());
}

TEST(Network, DecomposesASharedWeightOnce) {
  int reads = 0;
  const std::vector<float> kernel = he_kernel<float>(kShape, 2);
  Layer layer;
  layer.shape = kShape;
  layer.read_weights = [&] {
    ++reads;
    return Weights(kernel);
  };
  layer.weight_id = "w";
  std::vector<Layer> layers(4, layer);
  layers[0].shape.stride_h = 3;  // this one cannot
  layers[2].shape.stride_w = 2;
  layers[3].weight_id = "other";
  const auto results = decompose_network(layers, {});
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(results[0].mode, Mode::kUnchange);
  EXPECT_TRUE(results[1].factors);
  EXPECT_FALSE(results[1].shares_with);
  EXPECT_FALSE(results[2].factors);
  EXPECT_EQ(results[2].shares_with, 1U);
  EXPECT_EQ(results[2].rank, results[1].rank);
  EXPECT_EQ(results[2].relative_error, results[1].relative_error);
  EXPECT_TRUE(results[3].factors);
}

TEST(Network, CountsCosts) {
  Layer layer = layer_of("conv", {96, 64, 3, 5}, he_kernel<float>({96, 64, 3, 5}, 3));
  layer.shape.stride_h = 2;
  layer.shape.stride_w = 1;
  layer.output_positions = 10;
  // SCFK: first [r, 64, 3, 1] takes the stride of the height and runs at all columns; last
  // [96, r, 1, 5].
  const auto high = decompose_network({&layer, 1}, rule(RankRule::kRank, 7));
  EXPECT_EQ(high[0].before.params, 96 * 64 * 15);
  EXPECT_EQ(high[0].before.macs, 96 * 64 * 15 * 10);
  EXPECT_EQ(high[0].after.params, 7 * 64 * 3 + 7 * 96 * 5);
  EXPECT_EQ(high[0].after.macs, (7 * 64 * 3 + 7 * 96 * 5) * 10);
  layer.shape.stride_w = 2;
  layer.output_positions = 0;
  const auto both = decompose_network({&layer, 1}, rule(RankRule::kRank, 7));
  EXPECT_EQ(both[0].before.macs, 96 * 64 * 15);
  EXPECT_EQ(both[0].after.macs, 7 * 64 * 3 * 2 + 7 * 96 * 5);
}

TEST(Network, LeavesLayersThatWouldGainTooLittle) {
  const Layer layer = layer_of("conv", kShape, he_kernel<float>(kShape, 4));
  // 64 * 64 * 9 / (r * 64 * 6) = 96 / r.
  Options options = rule(RankRule::kRank, 40);
  options.min_speedup = 2.4;
  EXPECT_TRUE(decompose_network({&layer, 1}, options)[0].factors);
  options.min_speedup = 2.41;
  const auto results = decompose_network({&layer, 1}, options);
  EXPECT_FALSE(results[0].factors);
  EXPECT_EQ(results[0].mode, Mode::kUnchange);
  EXPECT_NE(results[0].reason.find("factor of 2.40 only; at least 2.41"), std::string::npos)
      << results[0].reason;
  EXPECT_FALSE(decompose_network({&layer, 1}, rule(RankRule::kRank, 97))[0].factors);
}

TEST(Network, KeepsTheShareOfEnergyThatIsAskedFor) {
  const std::vector<double> kernel = he_kernel<double>(kShape, 5);
  const Layer layer = layer_of("conv", kShape, kernel);
  const auto values = jacobi_singular_values(matrix_of(kernel, kShape, Mode::kScfk));
  for (const double share : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    Options options = rule(RankRule::kEnergy, share);
    options.min_speedup = 0;
    const LayerResult result = std::move(decompose_network({&layer, 1}, options)[0]);
    EXPECT_LE(result.relative_error * result.relative_error, 1 - share + 1e-12);
    const double before = tail_norm(values, result.rank - 1) / norm(kernel);
    EXPECT_GT(before * before, 1 - share - 1e-12) << share;
  }
}

TEST(Network, TakesAShareOfTheFullRank) {
  const Layer layer = layer_of("conv", kShape, he_kernel<float>(kShape, 6));
  EXPECT_EQ(decompose_network({&layer, 1}, rule(RankRule::kRatio, 0.25))[0].rank, 48);
  EXPECT_EQ(decompose_network({&layer, 1}, rule(RankRule::kRatio, 1e-9))[0].rank, 1);
}

TEST(Network, PlansWhatItWouldDo) {
  std::vector<Layer> layers;
  layers.push_back(layer_of("a", kShape, he_kernel<float>(kShape, 7)));
  layers.push_back(layer_of("b", {64, 96, 3, 3}, he_kernel<float>({64, 96, 3, 3}, 8)));
  layers.push_back(layer_of("zero", kShape, std::vector<float>(64 * 64 * 9)));
  layers.push_back(layer_of("c", {32, 3, 7, 7}, he_kernel<float>({32, 3, 7, 7}, 9)));
  for (const Options& options : {Options{}, rule(RankRule::kRank, 20), rule(RankRule::kEnergy, 0.3),
                                 rule(RankRule::kMacs, 0.5)}) {
    const auto planned = plan_network(layers, options);
    const auto done = decompose_network(layers, options);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(planned[i].mode, done[i].mode);
      EXPECT_EQ(planned[i].rank, done[i].rank);
      EXPECT_EQ(planned[i].reason, done[i].reason);
      EXPECT_EQ(planned[i].after.macs, done[i].after.macs);
      EXPECT_FALSE(planned[i].factors);
      if (options.rule == RankRule::kEvbmf || options.rule == RankRule::kEnergy) {
        EXPECT_NEAR(planned[i].relative_error, done[i].relative_error, 1e-6);
      }
    }
  }
}

TEST(Network, GivesTheSameOnAnyNumberOfThreads) {
  std::vector<Layer> layers;
  for (unsigned i = 0; i < 6; ++i) {
    layers.push_back(layer_of("conv" + std::to_string(i), kShape, he_kernel<float>(kShape, i)));
  }
  Options one;
  one.threads = 1;
  Options four;
  four.threads = 4;
  const auto a = decompose_network(layers, one);
  const auto b = decompose_network(layers, four);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(a[i].factors->first, b[i].factors->first);
    EXPECT_EQ(a[i].factors->last, b[i].factors->last);
  }
}

TEST(Network, TellsProgressAndStopsWhenTold) {
  std::vector<Layer> layers;
  for (unsigned i = 0; i < 5; ++i) {
    layers.push_back(layer_of("conv" + std::to_string(i), kShape, he_kernel<float>(kShape, i)));
  }
  std::vector<std::size_t> told;
  decompose_network(layers, {}, [&](std::size_t done, std::size_t all, const std::string& next) {
    EXPECT_EQ(all, 5U);
    EXPECT_EQ(next.empty(), done == 5);
    told.push_back(done);
  });
  EXPECT_EQ(told, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
  EXPECT_THROW(decompose_network(layers, {}, [](auto...) { throw std::runtime_error("stop"); }),
               std::runtime_error);
}

}  // namespace
}  // namespace amct::decompose
