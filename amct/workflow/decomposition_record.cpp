#include "amct/workflow/decomposition_record.h"

#include <algorithm>

#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/pickle.h"

namespace amct::workflow {
namespace {

using tensorflow::py_dict;
using tensorflow::py_list;
using tensorflow::py_tuple;
using tensorflow::PyValue;

constexpr std::int64_t kVersion = 1;

PyValue dims_tuple(const std::array<std::int64_t, 4>& dims) {
  return py_tuple({dims.begin(), dims.end()});
}

PyValue::Dict geometry(const tensorflow::ConvNode& node) {
  return py_dict({{"name", {node.name}},
                  {"strides", py_tuple(node.strides)},
                  {"dilations", py_tuple(node.dilations)},
                  {"explicit_paddings", py_tuple(node.explicit_paddings)}});
}

PyValue new_convolution(const tensorflow::ConvNode& node, const tensorflow::NewVariable& kernel) {
  PyValue::Dict dict = geometry(node);
  dict.add("variable", {kernel.name});
  dict.add("kernel_shape", dims_tuple(kernel.dims));
  return {std::move(dict)};
}

PyValue entry(const tensorflow::SplitConvolution& conv, const tensorflow::SplitKernel& kernel) {
  PyValue::Dict original = geometry(conv.original);
  original.add("variables", py_list(kernel.replaced));
  original.add("kernel_shape", py_tuple({std::max(kernel.first.dims[0], kernel.last.dims[0]),
                                         std::max(kernel.first.dims[1], kernel.last.dims[1]),
                                         kernel.first.dims[2], kernel.last.dims[3]}));
  return {py_dict({{"original", {std::move(original)}},
                   {"first", new_convolution(conv.first, kernel.first)},
                   {"last", new_convolution(conv.last, kernel.last)},
                   {"rank", {kernel.first.dims[3]}},
                   {"data_format", {conv.data_format}},
                   {"padding", {conv.padding}},
                   {"has_bias", {conv.has_bias}},
                   {"dtype", {tensorflow::data_type_name(kernel.data_type)}},
                   {"resource", {kernel.resource}}})};
}

}  // namespace

std::string decomposition_record(const tensorflow::SplitResult& split) {
  PyValue::Dict convolutions;
  for (const tensorflow::SplitConvolution& conv : split.convolutions) {
    const auto kernel =
        std::ranges::find(split.kernels, conv.kernel, &tensorflow::SplitKernel::kernel);
    convolutions.add(conv.name, entry(conv, *kernel));
  }
  return tensorflow::pickle({py_dict({{"format", {std::string("amct_tensorflow")}},
                                      {"version", {kVersion}},
                                      {"convolutions", {std::move(convolutions)}}})});
}

}  // namespace amct::workflow
