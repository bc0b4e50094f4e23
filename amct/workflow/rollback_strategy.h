#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace amct::workflow {

/// A quantized layer and how alike its results are to those in float; 1: equal.
struct RankedLayer {
  std::string layer;
  std::string op_type;
  double similarity = 1.0;
  bool takes_int16 = true;
};

/// What to quantize less than the config says.
struct Rollback {
  std::vector<std::string> in_float;
  std::vector<std::string> int16;  // activation of 16 bits
  bool operator==(const Rollback&) const = default;
};

/// Decides which layers to try in float next.
class RollbackStrategy {
 public:
  virtual ~RollbackStrategy() = default;
  /// The layers, least alike first. With all of them quantized the accuracy does not suffice; with
  /// none there is nothing to save.
  virtual void begin(const std::vector<RankedLayer>& layers) = 0;
  /// None: the search is over. `satisfied`: by the trial before; false at first.
  virtual std::optional<Rollback> next(bool satisfied) = 0;
};

/// Finds the smallest number of worst layers to roll back by bisection, about log2 of the number of
/// layers trials. With `int16`: first to activations of 16 bits, then, when that does not suffice
/// for all layers together, to float.
std::unique_ptr<RollbackStrategy> make_binary_search(bool int16);

/// Rolls back one more of the worst layers in each trial, until the accuracy suffices.
std::unique_ptr<RollbackStrategy> make_linear_search(bool int16);

}  // namespace amct::workflow
