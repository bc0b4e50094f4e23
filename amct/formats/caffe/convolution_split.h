#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace amct::caffe {

/// The window of a two-dimensional convolution.
struct Window {
  std::int64_t kernel_h = 0;
  std::int64_t kernel_w = 0;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t pad_h = 0;
  std::int64_t pad_w = 0;
};

/// One of the two layers that replace a convolution.
struct HalfConvolution {
  std::string name;
  std::int64_t num_output = 0;
  Window window;
  std::string param_name;  // of its weights; empty when they are not shared
};

/// How a convolution becomes two: the first has no bias and writes `middle`; the last reads it, and
/// keeps the bias and the top.
struct ConvolutionSplit {
  HalfConvolution first;
  HalfConvolution last;
  std::vector<std::string> middle;  // a blob for each top of the convolution
};

}  // namespace amct::caffe
