#include "amct/formats/caffe/split_weights.h"

#include <algorithm>

#include "amct/formats/caffe/blob.h"

namespace amct::caffe {
namespace {

void set_window(const HalfConvolution& half, schema::Convolution& settings) {
  const Window& window = half.window;
  settings.set_num_output(static_cast<std::uint32_t>(half.num_output));
  settings.clear_kernel_size();
  settings.set_kernel_h(static_cast<std::uint32_t>(window.kernel_h));
  settings.set_kernel_w(static_cast<std::uint32_t>(window.kernel_w));
  settings.clear_pad();
  settings.set_pad_h(static_cast<std::uint32_t>(window.pad_h));
  settings.set_pad_w(static_cast<std::uint32_t>(window.pad_w));
  settings.clear_stride();
  settings.set_stride_h(static_cast<std::uint32_t>(window.stride_h));
  settings.set_stride_w(static_cast<std::uint32_t>(window.stride_w));
}

template <typename Repeated>
void truncate(Repeated* field, int count) {
  while (field->size() > count) field->RemoveLast();
}

/// Settings of the blobs: the first half has no bias.
void keep_first_param(schema::Layer& layer) { truncate(layer.mutable_param(), 1); }
void keep_first_param(schema::V1Layer& layer) {
  truncate(layer.mutable_param(), 1);
  truncate(layer.mutable_blob_share_mode(), 1);
  truncate(layer.mutable_blobs_lr(), 1);
  truncate(layer.mutable_weight_decay(), 1);
}

void rename_param(const std::string& name, schema::Layer& layer) {
  if (layer.param_size() > 0 && layer.param(0).has_name()) layer.mutable_param(0)->set_name(name);
}
void rename_param(const std::string& name, schema::V1Layer& layer) {
  if (layer.param_size() > 0) layer.set_param(0, name);
}

void clear_propagate_down(schema::Layer& layer) { layer.clear_propagate_down(); }
void clear_propagate_down(schema::V1Layer& /*has none*/) {}

template <typename Layer>
void set_half(const HalfConvolution& half, Layer& layer) {
  layer.set_name(half.name);
  if (!half.param_name.empty()) rename_param(half.param_name, layer);
  if (layer.has_convolution_param()) set_window(half, *layer.mutable_convolution_param());
}

/// Files that name no blobs, as some tools write them, stay so.
template <typename Repeated>
void set_blob_names(const std::vector<std::string>& names, Repeated* field) {
  if (field->empty()) return;
  field->Clear();
  for (const std::string& name : names) *field->Add() = name;
}

template <typename Layer>
std::pair<Layer, Layer> split_any(Layer& layer, const WeightsSplit& split) {
  auto blobs = std::move(*layer.mutable_blobs());
  layer.clear_blobs();
  std::pair<Layer, Layer> halves(layer, layer);
  auto& [first, last] = halves;

  set_half(split.layers.first, first);
  set_blob_names(split.layers.middle, first.mutable_top());
  keep_first_param(first);
  first.clear_loss_weight();
  if (first.has_convolution_param()) {
    first.mutable_convolution_param()->set_bias_term(false);
    first.mutable_convolution_param()->clear_bias_filler();
  }
  *first.add_blobs() = make_blob(blobs.Get(0), split.first_dims, *split.first);

  set_half(split.layers.last, last);
  set_blob_names(split.layers.middle, last.mutable_bottom());
  clear_propagate_down(last);
  *last.add_blobs() = make_blob(blobs.Get(0), split.last_dims, *split.last);
  for (int i = 1; i < blobs.size(); ++i) *last.add_blobs() = std::move(*blobs.Mutable(i));
  return halves;
}

}  // namespace

std::pair<schema::Layer, schema::Layer> split_layer(schema::Layer layer,
                                                    const WeightsSplit& split) {
  return split_any(layer, split);
}

std::pair<schema::V1Layer, schema::V1Layer> split_layer(schema::V1Layer layer,
                                                        const WeightsSplit& split) {
  return split_any(layer, split);
}

}  // namespace amct::caffe
