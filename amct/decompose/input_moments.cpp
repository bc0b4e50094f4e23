#include "amct/decompose/input_moments.h"

#include <algorithm>
#include <cmath>

#include "amct/base/assert.h"
#include "amct/kernels/linear_algebra.h"

namespace amct::decompose {
namespace {

constexpr std::int64_t kBlock = 1024;  // places that are gathered before they are multiplied

}  // namespace

InputMoments::InputMoments(const ConvShape& shape, Mode mode)
    : shape_(shape),
      along_height_(first_has_height(mode)),
      kernel_(along_height_ ? shape.kernel_h : shape.kernel_w),
      stride_(along_height_ ? shape.stride_h : shape.stride_w),
      size_(shape.in_channels * kernel_),
      block_(static_cast<std::size_t>(size_ * kBlock)),
      sums_(static_cast<std::size_t>(size_ * size_)) {
  AMCT_ASSERT(mode != Mode::kUnchange);
}

void InputMoments::add(std::span<const float> activations, std::int64_t images, std::int64_t height,
                       std::int64_t width, const Padding& padding) {
  const auto image = static_cast<std::size_t>(shape_.in_channels * height * width);
  AMCT_ASSERT(activations.size() == image * static_cast<std::size_t>(images));
  for (std::int64_t i = 0; i < images; ++i)
    add_image(activations.subspan(static_cast<std::size_t>(i) * image, image), height, width,
              padding);
}

void InputMoments::add_image(std::span<const float> image, std::int64_t height, std::int64_t width,
                             const Padding& padding) {
  const std::int64_t before = along_height_ ? padding.top : padding.left;
  const std::int64_t after = along_height_ ? padding.bottom : padding.right;
  const std::int64_t along = along_height_ ? height : width;
  const std::int64_t across = along_height_ ? width : height;
  const std::int64_t along_step = along_height_ ? width : 1;
  const std::int64_t across_step = along_height_ ? 1 : width;
  for (std::int64_t start = -before; start + kernel_ <= along + after; start += stride_) {
    for (std::int64_t from = 0; from < across;) {
      const std::int64_t places = std::min(across - from, kBlock - filled_);
      for (std::int64_t c = 0; c < shape_.in_channels; ++c) {
        for (std::int64_t k = 0; k < kernel_; ++k) {
          float* to = block_.data() + (c * kernel_ + k) * kBlock + filled_;
          const std::int64_t at = start + k;
          if (at < 0 || at >= along) {
            std::fill_n(to, places, 0.0F);
            continue;
          }
          const float* x = image.data() + c * height * width + at * along_step + from * across_step;
          for (std::int64_t i = 0; i < places; ++i) {
            const float value = x[i * across_step];
            to[i] = std::isfinite(value) ? value : 0.0F;
          }
        }
      }
      filled_ += places;
      from += places;
      if (filled_ == kBlock) flush();
    }
  }
}

void InputMoments::flush() {
  if (filled_ == 0) return;
  for (std::int64_t i = 0; i < size_; ++i)
    std::fill(block_.begin() + i * kBlock + filled_, block_.begin() + (i + 1) * kBlock, 0.0F);
  std::vector<float> product(static_cast<std::size_t>(size_ * size_));
  kernels::gram(size_, kBlock, block_.data(), 0.0F, product.data());
  for (std::int64_t i = 0; i < size_; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      const auto at = static_cast<std::size_t>(i * size_ + j);
      sums_[at] += static_cast<double>(product[at]);
    }
  count_ += filled_;
  filled_ = 0;
}

std::vector<double> InputMoments::lower() {
  flush();
  std::vector<double> moments(sums_);
  if (count_ > 0)
    for (double& m : moments) m /= static_cast<double>(count_);
  return moments;
}

}  // namespace amct::decompose
