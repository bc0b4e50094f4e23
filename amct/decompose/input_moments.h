#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "amct/decompose/conv_shape.h"

namespace amct::decompose {

/// Padding of a convolution's input with zeros.
struct Padding {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
};

/// Second moments E[x x^T] of what the first of the two convolutions reads at one place: x has
/// Cin * K values, channel by channel, K along the kernel axis that the first one has. Streaming:
/// memory does not depend on the number of images.
class InputMoments {
 public:
  /// `mode` is not kUnchange.
  InputMoments(const ConvShape& shape, Mode mode);

  /// Activations [images, Cin, height, width]. Values that are not finite count as zero.
  void add(std::span<const float> activations, std::int64_t images, std::int64_t height,
           std::int64_t width, const Padding& padding);

  std::int64_t channels() const { return shape_.in_channels; }
  /// Cin * K.
  std::int64_t size() const { return size_; }
  /// Places seen so far.
  std::int64_t count() const { return count_ + filled_; }
  /// Row-major [size, size], the lower triangle; zeros when nothing was seen.
  std::vector<double> lower();

 private:
  void add_image(std::span<const float> image, std::int64_t height, std::int64_t width,
                 const Padding& padding);
  void flush();

  ConvShape shape_;
  bool along_height_;
  std::int64_t kernel_;
  std::int64_t stride_;
  std::int64_t size_;
  std::int64_t count_ = 0;    // places in sums_
  std::int64_t filled_ = 0;   // columns of block_ in use
  std::vector<float> block_;  // [size, kBlock]
  std::vector<double> sums_;
};

}  // namespace amct::decompose
