#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "amct/base/error.h"
#include "amct/formats/caffe/definition.h"
#include "amct/formats/caffe/weights_file.h"
#include "caffe.pb.h"

namespace amct::caffe {

namespace schema = amct::caffe_schema;

/// Message of the Error that `action` throws.
template <typename Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

inline void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << text;
}

inline schema::Blob blob_of(std::initializer_list<std::int64_t> dims, float start = 0) {
  schema::Blob blob;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    blob.mutable_shape()->add_dim(dim);
    count *= dim;
  }
  for (std::int64_t i = 0; i < count; ++i) blob.add_data(start + static_cast<float>(i));
  return blob;
}

/// One layer as a field of a network.
template <typename Message>
std::string field_of(int number, const Message& message) {
  const std::string content = message.SerializeAsString();
  std::string bytes;
  for (std::size_t value : {static_cast<std::size_t>(number) << 3 | 2, content.size()}) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
    bytes += static_cast<char>(value);
  }
  return bytes + content;
}

inline schema::Layer convolution_layer(const std::string& name) {
  schema::Layer layer;
  layer.set_name(name);
  layer.add_bottom("data");
  layer.add_top(name);
  schema::Convolution& settings = *layer.mutable_convolution_param();
  settings.set_num_output(4);
  settings.add_kernel_size(3);
  settings.set_bias_filler("\x0a\x01z");
  *layer.add_blobs() = blob_of({4, 2, 3, 3});
  *layer.add_blobs() = blob_of({4}, 100);
  return layer;
}

/// "c" becomes "c_0" [rank 1, 3x1] and "c_1" [1x3].
inline ConvolutionSplit example_split() {
  ConvolutionSplit split;
  split.first = {"c_0", 1, {3, 1, 2, 1, 1, 0}, {}};
  split.last = {"c_1", 4, {1, 3, 1, 1, 0, 1}, {}};
  split.middle = {"c_0"};
  return split;
}

inline WeightsSplit example_weights(Values first, Values last) {
  WeightsSplit split;
  split.layers = example_split();
  split.first_dims = {1, 2, 3, 1};
  split.last_dims = {4, 1, 1, 3};
  split.first = std::make_shared<const Values>(std::move(first));
  split.last = std::make_shared<const Values>(std::move(last));
  return split;
}

}  // namespace amct::caffe
