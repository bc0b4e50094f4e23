#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "amct/base/quant_options.h"

namespace amct::quant {

/// Whether an observer found a factor. Anything but kOk means: leave the layer in float.
enum class ActivationOutcome : std::uint8_t {
  kOk,
  kNoData,        // nothing finite was observed
  kScaleTooLarge  // above 1 / FLT_EPSILON: the device cannot divide by it
};

/// What an observer says about one tensor.
struct ActivationResult {
  ActivationOutcome outcome = ActivationOutcome::kNoData;
  QuantFactor factor;     // the computed one even when it is too large; {1, 0} without data
  float clip_min = 0.0F;  // ends of what the factor expresses
  float clip_max = 0.0F;
  float observed_min = 0.0F;  // of the finite values; 0 without data
  float observed_max = 0.0F;
  std::uint64_t finite_count = 0;
  std::uint64_t nonfinite_count = 0;
  double loss = 0.0;  // mean squared error of the choice, as the search estimates it
  bool exact = true;  // false: found on a histogram

  bool ok() const { return outcome == ActivationOutcome::kOk; }
  /// One plain sentence without the tensor's name; empty when ok().
  std::string reason() const;
};

/// Counts of equally wide bins over [min, max].
struct Histogram {
  float min = 0.0F;
  float max = 0.0F;
  std::vector<std::uint64_t> counts;
};

/// Collects the values of one activation tensor batch by batch and finds its factor.
/// NaN and infinities are counted and otherwise ignored. One thread at a time per observer; to
/// split work over threads give each its own observer of the same options and merge() them.
class ActivationObserver {
 public:
  virtual ~ActivationObserver() = default;

  virtual void observe(std::span<const float> batch) = 0;
  /// Adds all that the other one has seen. Throws Error (kUsage) when the options differ.
  virtual void merge(const ActivationObserver& other) = 0;
  /// Runs the search; num_bits is 8 or 16. Does not change the observer.
  virtual ActivationResult finish(int num_bits, bool asymmetric) const = 0;
  /// For reports: bins >= 1 bins over the observed range (no counts without data).
  virtual Histogram histogram(int bins) const = 0;
  /// The whole state in bytes; deserialize_observer() continues from it bit for bit.
  virtual std::vector<std::byte> serialize() const = 0;
  /// Bytes of memory in use.
  virtual std::size_t memory() const = 0;
};

/// Settings of an observer that are ours, not the user's.
struct ObserverLimits {
  /// IFMR keeps this many values of a tensor and is exact up to there; then it goes on with a
  /// histogram of constant size.
  std::size_t exact_values = std::size_t{256} * 1024;
};

/// Makes the observer of options.algorithm. Throws Error (kInvalidConfig) for a value out of range.
std::unique_ptr<ActivationObserver> make_observer(const ActivationOptions& options,
                                                  const ObserverLimits& limits = {});

/// Reads what serialize() wrote. Throws Error (kInvalidData) on anything else.
std::unique_ptr<ActivationObserver> deserialize_observer(std::span<const std::byte> bytes);

}  // namespace amct::quant
