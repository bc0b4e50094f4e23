#pragma once

#include <cstdint>
#include <span>

namespace amct::kernels {

/// Running sums that compare a tensor with its reference, over any number of pieces.
struct Comparison {
  std::uint64_t count = 0;
  double dot = 0.0;
  double reference_square = 0.0;
  double value_square = 0.0;
  double difference_square = 0.0;
  double max_difference = 0.0;

  /// Adds one more pair of equally long pieces. A non-finite value makes the sums non-finite.
  void add(std::span<const float> reference, std::span<const float> value);
  void merge(const Comparison& other);

  /// Cosine of the two tensors: 1 when both are all zero, 0 when one is.
  double cosine() const;
  /// Signal to quantization noise in dB; +infinity when there is no difference, -infinity when the
  /// reference is all zero and the value is not.
  double sqnr_db() const;
  double mean_square_error() const;  // 0 for nothing compared
};

}  // namespace amct::kernels
