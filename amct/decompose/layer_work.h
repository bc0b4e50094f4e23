#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "amct/decompose/network.h"
#include "amct/decompose/workers.h"

namespace amct::decompose {

/// What to do with one kernel.
struct LayerTask {
  const Layer* layer = nullptr;
  Mode mode = Mode::kUnchange;
  RankRule rule = RankRule::kEvbmf;  // not kMacs, kParams: they give each layer a kRank
  double value = 0;
  bool want_factors = true;
  /// Whether the layer is decomposed at this rank; factors are made only then.
  std::function<bool(std::int64_t)> accepts;
};

struct LayerOutcome {
  bool zero_kernel = false;
  std::int64_t rank = 0;
  double relative_error = 0;
  std::optional<double> output_error;
  std::optional<Factors> factors;
};

/// Reads and decomposes one kernel. Throws Error(kInvalidModel), naming the layer, when it is not
/// finite or has another size than its shape.
LayerOutcome decompose_layer(const LayerTask& task, Workers workers);

/// Squared singular values of a kernel, descending; empty for an all-zero one. Throws as above.
std::vector<double> spectrum_of(const Layer& layer, Mode mode, Workers workers);

}  // namespace amct::decompose
