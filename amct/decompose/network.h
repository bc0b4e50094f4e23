#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "amct/decompose/conv_shape.h"

namespace amct::decompose {

/// Row-major [Cout, Cin, KH, KW]; float16 weights come as float. The factors have the same type.
using Weights = std::variant<std::vector<float>, std::vector<double>>;

/// One convolution of a network, as its format describes it.
struct Layer {
  std::string name;
  ConvShape shape;
  /// Reads the kernel when it is its turn, so that not all kernels are in memory at once.
  std::function<Weights()> read_weights;
  /// Layers with the same non-empty id share one weight: decomposed once, equal results.
  std::string weight_id;
  /// Height times width of the output; 0 when not known (then costs are per output position).
  std::int64_t output_positions = 0;
  /// Largest finite value of the stored type: factors are rescaled, then clamped to it (case D4).
  double largest_value = 3.4028234663852886e38;
  /// Second moments of the layer's inputs (InputMoments::lower of the layer's mode); then factors
  /// are fitted to the output on the data instead of to the kernel. May be empty.
  std::function<std::vector<double>()> input_moments;
  /// Why the format cannot decompose it (no constant weight, wrong type...); empty when it can.
  std::string refusal;
};

/// How the rank of a layer is chosen.
enum class RankRule {
  kEvbmf,   // upstream_facts 4.3, with its clamps: the default
  kRank,    // `value` itself
  kRatio,   // `value` times the full rank, 0 < value <= 1
  kEnergy,  // smallest rank that keeps `value` of the squared norm, 0 < value <= 1
  kMacs,    // whole network: multiplications left, as a share of those of all convolutions
  kParams,  // whole network: weights left, as a share of those of all convolutions
};

struct Options {
  RankRule rule = RankRule::kEvbmf;
  double value = 0;
  /// Names, or patterns with '*' and '?', of layers to leave alone.
  std::vector<std::string> skip;
  /// Layers whose multiplications fall by less than this factor stay as they are.
  double min_speedup = 1;
  int threads = 0;  // 0: all cores
};

struct Cost {
  std::int64_t macs = 0;  // per image; per output position when output_positions is not known
  std::int64_t params = 0;
};

/// The two convolutions that replace a layer: first [r, Cin, ..], last [Cout, r, ..], row-major.
struct Factors {
  std::array<std::int64_t, 4> first_shape{};
  std::array<std::int64_t, 4> last_shape{};
  Weights first;
  Weights last;
};

struct LayerResult {
  std::string name;
  Mode mode = Mode::kUnchange;
  std::string reason;  // why it was left alone; empty when it was decomposed
  std::int64_t full_rank = 0;
  std::int64_t rank = 0;
  Cost before;
  Cost after;                 // equal to `before` when left alone
  double relative_error = 0;  // Frobenius norm of (composed kernel - kernel) / norm of kernel
  /// Root mean square error of the output over that of the output, on the data behind
  /// input_moments.
  std::optional<double> output_error;
  std::optional<Factors> factors;  // taken by the first layer of a weight_id; see shares_with
  std::optional<std::size_t>
      shares_with;  // index of the result whose factors are also this layer's
};

/// Called after each layer with (layers done, layers in all, name of the next).
using Progress = std::function<void(std::size_t, std::size_t, const std::string&)>;

/// Decomposes every layer that qualifies; the result has one entry for each layer, in order. Throws
/// Error(kInvalidModel) that names the layer when a qualifying kernel holds NaN or infinity, and
/// Error(kUsage) on options out of range. Uses all cores.
std::vector<LayerResult> decompose_network(std::span<const Layer> layers, const Options& options,
                                           const Progress& progress = {});

/// The same without computing factors where the rule does not need them: modes, ranks and costs of
/// a dry run. Error figures are still exact to the data's precision where the rule computes them,
/// else 0.
std::vector<LayerResult> plan_network(std::span<const Layer> layers, const Options& options,
                                      const Progress& progress = {});

}  // namespace amct::decompose
