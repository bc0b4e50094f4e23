#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "amct/kernels/quant_loss.h"
#include "amct/kernels/quantize.h"
#include "amct/kernels/range.h"
#include "amct/kernels/targets.h"
#include "amct/quant/activation_observer.h"

// Cost of calibration per value; "ns_per_value" is the number to look at.
namespace {

using namespace amct;
using namespace amct::quant;

enum Kind { kNormal, kRelu, kRelu6, kConstant };

std::vector<float> make_data(Kind kind, std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0F, 1.5F);
  std::vector<float> x(n);
  for (float& v : x) {
    v = normal(rng);
    if (kind != kNormal) v = std::max(v, 0.0F);
    if (kind == kRelu6) v = std::min(v * 2.0F, 6.0F);
    if (kind == kConstant) v = 0.25F;
  }
  return x;
}

void report(benchmark::State& state, std::size_t values) {
  state.counters["ns_per_value"] = benchmark::Counter(
      static_cast<double>(values) * static_cast<double>(state.iterations()) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

ActivationOptions options_of(bool hfmg) {
  ActivationOptions o;
  if (hfmg) o.algorithm = HfmgOptions{};
  return o;
}

// One tensor, seen again and again: arguments are kind, values, hfmg.
void observe(benchmark::State& state) {
  const auto x =
      make_data(static_cast<Kind>(state.range(0)), static_cast<std::size_t>(state.range(1)), 1);
  const auto observer = make_observer(options_of(state.range(2) != 0), {0});
  observer->observe(x);
  for (auto _ : state) observer->observe(x);
  report(state, x.size());
}
BENCHMARK(observe)
    ->ArgNames({"kind", "n", "hfmg"})
    ->ArgsProduct({{kNormal, kRelu, kRelu6, kConstant}, {800'000, 50'000}, {0, 1}});

// The same work on each instruction set of this machine.
void observe_on_target(benchmark::State& state) {
  const auto targets = kernels::available_targets();
  const auto index = static_cast<std::size_t>(state.range(0));
  if (index >= targets.size()) {
    state.SkipWithError("no further target");
    return;
  }
  state.SetLabel(targets[index] + (state.range(1) == 0 ? " ifmr" : " hfmg"));
  const auto x = make_data(kRelu, 200'704, 1);
  const auto observer = make_observer(options_of(state.range(1) != 0), {0});
  kernels::force_target(targets[index]);
  observer->observe(x);
  for (auto _ : state) observer->observe(x);
  kernels::force_target("");
  report(state, x.size());
}
BENCHMARK(observe_on_target)->ArgsProduct({{0, 1, 2, 3, 4}, {0, 1}});

// The outputs of the layers of a ResNet-18 at 224 x 224, or of a MobileNetV2, one image a time.
void observe_net(benchmark::State& state) {
  std::vector<std::size_t> sizes = {802816, 200704, 200704, 200704, 200704, 200704, 100352,
                                    100352, 100352, 100352, 50176,  50176,  50176,  50176,
                                    25088,  25088,  25088,  25088,  512};
  if (state.range(0) != 0) {
    sizes = {401408, 401408, 200704, 1204224, 301056, 75264,
             451584, 451584, 75264,  451584,  112896, 25088};
    for (int i = 0; i < 6; ++i) sizes.insert(sizes.end(), {150528, 150528, 50176});
    for (int i = 0; i < 6; ++i) sizes.insert(sizes.end(), {112896, 112896, 18816});
    for (int i = 0; i < 3; ++i) sizes.insert(sizes.end(), {47040, 47040, 7840});
  }
  const bool hfmg = state.range(1) != 0;
  std::vector<std::vector<float>> data;
  std::vector<std::unique_ptr<ActivationObserver>> observers;
  std::size_t total = 0;
  unsigned seed = 0;
  for (const std::size_t n : sizes) {
    data.push_back(make_data(kRelu, n, ++seed));
    observers.push_back(
        make_observer(options_of(hfmg), {static_cast<std::size_t>(state.range(2))}));
    observers.back()->observe(data.back());
    total += n;
  }
  for (auto _ : state) {
    for (std::size_t i = 0; i < data.size(); ++i) observers[i]->observe(data[i]);
  }
  report(state, total);
}
BENCHMARK(observe_net)
    ->ArgNames({"mobilenet", "hfmg", "exact"})
    ->Args({0, 0, 0})
    ->Args({0, 1, 0})
    ->Args({1, 0, 0})
    ->Args({1, 1, 0});

// Keeping values, as IFMR does below its budget (allocation included).
void observe_exact(benchmark::State& state) {
  const auto x = make_data(kRelu, 200'704, 1);
  for (auto _ : state) {
    const auto observer = make_observer(options_of(false));
    observer->observe(x);
    benchmark::DoNotOptimize(observer.get());
  }
  report(state, x.size());
}
BENCHMARK(observe_exact);

// The search for one tensor: 0 exact IFMR of 256 Ki values, 1 IFMR histogram, 2 HFMG.
void finish(benchmark::State& state) {
  const auto x = make_data(kRelu, 256 * 1024, 1);
  const bool hfmg = state.range(0) == 2;
  const auto observer = make_observer(options_of(hfmg), {state.range(0) == 0 ? x.size() : 0});
  observer->observe(x);
  for (auto _ : state) benchmark::DoNotOptimize(observer->finish(8, true));
}
BENCHMARK(finish)->Arg(0)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond);

void finite_range(benchmark::State& state) {
  const auto x = make_data(kNormal, 4096, 1);
  for (auto _ : state) benchmark::DoNotOptimize(kernels::finite_range(x));
  report(state, x.size());
}
BENCHMARK(finite_range);

void fake_quantize(benchmark::State& state) {
  auto x = make_data(kNormal, 4096, 1);
  std::vector<float> out(x.size());
  for (auto _ : state) kernels::fake_quantize_f32(x, {0.05F, 3, -128, 127}, out);
  report(state, x.size());
}
BENCHMARK(fake_quantize);

void quantize_i8(benchmark::State& state) {
  const auto x = make_data(kNormal, 4096, 1);
  std::vector<std::int8_t> out(x.size());
  for (auto _ : state) kernels::quantize_f32_i8(x, {0.05F, 3, -128, 127}, out);
  report(state, x.size());
}
BENCHMARK(quantize_i8);

void clipped_square_error(benchmark::State& state) {
  const auto x = make_data(kNormal, 4096, 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(kernels::clipped_square_error(x, -4.0F, 4.0F, 0.03F));
  }
  report(state, x.size());
}
BENCHMARK(clipped_square_error);

}  // namespace
