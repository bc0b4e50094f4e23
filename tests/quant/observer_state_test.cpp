#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "amct/base/error.h"
#include "amct/quant/activation_observer.h"
#include "amct/quant/byte_stream.h"
#include "observer_fixture.h"
#include "samples.h"

// Saved states, and what holds for the state of IFMR alone.
namespace amct::quant {
namespace {

class ObserverState : public Observer {};
INSTANTIATE_TEST_SUITE_P(Modes, ObserverState, kAllModes, mode_name);

TEST_P(ObserverState, SerializedStateContinuesBitForBit) {
  const auto first = test::sample("silu", 30'000, 1);
  const auto second = test::sample("outlier", 30'000, 2);
  const auto a = make();
  a->observe(first);
  a->observe(std::vector<float>{test::kNan, 1.0F});
  const auto bytes = a->serialize();
  const auto b = deserialize_observer(bytes);
  EXPECT_EQ(b->serialize(), bytes);
  a->observe(second);
  b->observe(second);
  EXPECT_EQ(a->serialize(), b->serialize());
  const auto x = a->finish(8, true);
  const auto y = b->finish(8, true);
  EXPECT_EQ(x.factor, y.factor);
  EXPECT_EQ(x.loss, y.loss);
  EXPECT_EQ(x.nonfinite_count, 1U);
  EXPECT_EQ(y.nonfinite_count, 1U);
  const auto empty = make();
  if (GetParam() == Mode::kIfmrExact || GetParam() == Mode::kHfmg) {
    EXPECT_EQ(deserialize_observer(empty->serialize())->serialize(), empty->serialize());
  }
}

TEST_P(ObserverState, DamagedStatesAreRefused) {
  const auto observer = make();
  observer->observe(test::sample("normal", 300));
  const auto bytes = observer->serialize();
  const auto code_of = [](std::vector<std::byte> bad) {
    try {
      deserialize_observer(bad);
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::kInternal;
  };
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 5) {
    EXPECT_EQ(code_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}),
              ErrorCode::kInvalidData);
  }
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at / 50) {
    auto bad = bytes;
    bad[at] ^= std::byte{0x10};
    EXPECT_EQ(code_of(bad), ErrorCode::kInvalidData) << at;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(code_of(longer), ErrorCode::kInvalidData);
}

// A state whose checksum is right, but which nobody would have written.
TEST_P(ObserverState, ForgedStatesAreRefusedOrWork) {
  const auto observer = make();
  observer->observe(test::sample("normal", 40));
  const auto bytes = observer->serialize();
  std::mt19937 rng(3);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::vector<std::byte> bad(bytes.begin(), bytes.end() - 8);
    const std::size_t header = std::min<std::size_t>(bad.size(), 110);
    for (int k = 0; k < 1 + i % 3; ++k) {
      const std::size_t at = rng() % (k == 2 ? bad.size() : header);
      bad[at] = static_cast<std::byte>(i % 4 == 0 ? 0xFFU : rng() & 0xFFU);
    }
    if (i % 5 == 0) bad.resize(rng() % bad.size());
    const std::uint64_t sum = byte_checksum(bad);
    const auto tail = std::as_bytes(std::span(&sum, 1));
    bad.insert(bad.end(), tail.begin(), tail.end());
    try {
      const auto restored = deserialize_observer(bad);
      restored->observe(std::vector<float>{1.0F, -2.0F});
      restored->histogram(8);
      EXPECT_FALSE(restored->serialize().empty());
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidData) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(IfmrObserver, TurnsToTheHistogramAtItsLimitAndNotBefore) {
  const auto x = test::sample("relu", 10'000);
  const auto run = [&](std::size_t limit, std::size_t piece) {
    const auto observer = make_observer({}, {limit});
    for (std::size_t at = 0; at < x.size(); at += piece) {
      observer->observe(std::span(x).subspan(at, std::min(piece, x.size() - at)));
    }
    return observer->finish(8, true);
  };
  for (const std::size_t piece : {1U, 999U, 10'000U}) {
    EXPECT_TRUE(run(10'000, piece).exact);
    EXPECT_FALSE(run(9'999, piece).exact);
    EXPECT_EQ(run(10'000, piece).factor, run(10'000, 10'000).factor);
    EXPECT_EQ(run(9'999, piece).factor, run(9'999, 10'000).factor);
    EXPECT_EQ(run(9'999, piece).loss, run(9'999, 10'000).loss);
  }
}

TEST(IfmrObserver, MergesAcrossModes) {
  const auto x = test::sample("silu", 9'000);
  const auto all = make_observer({}, {5'000});
  all->observe(x);
  const auto small = make_observer({}, {5'000});
  small->observe(std::span(x).first(1'000));
  const auto large = make_observer({}, {5'000});
  large->observe(std::span(x).subspan(1'000));
  const auto copy = deserialize_observer(large->serialize());
  copy->merge(*small);
  small->merge(*large);
  const auto expected = all->finish(8, true);
  for (const auto* merged : {small.get(), copy.get()}) {
    const auto r = merged->finish(8, true);
    EXPECT_EQ(r.factor, expected.factor);
    EXPECT_EQ(r.loss, expected.loss);
    EXPECT_EQ(r.finite_count, 9'000U);
  }
}

TEST(IfmrObserver, MemoryDoesNotGrowWithTheData) {
  const auto observer = make_observer({});
  const auto x = test::sample("relu", 100'000);
  std::size_t top = 0;
  for (int i = 0; i < 50; ++i) {
    observer->observe(x);
    top = std::max(top, observer->memory());
  }
  EXPECT_LE(top, std::size_t{2} * 1024 * 1024);
  EXPECT_LE(observer->memory(), std::size_t{128} * 1024);
}

}  // namespace
}  // namespace amct::quant
