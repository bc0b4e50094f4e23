#include "amct/workflow/decompose_tensorflow.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/formats/tensorflow/checkpoint.h"
#include "amct/formats/tensorflow/data_type.h"
#include "amct/formats/tensorflow/half.h"
#include "amct/formats/tensorflow/meta_graph.h"
#include "amct/workflow/decomposition_record.h"
#include "amct/workflow/result_files.h"

namespace amct::workflow {
namespace {

using tensorflow::CheckpointReader;
using tensorflow::Convolution;
using tensorflow::MetaGraph;

constexpr double kLargestHalf = 65504;

/// [height, width, in, out] in a checkpoint -> [out, in, height, width].
template <typename Stored, typename Value, typename Convert>
std::vector<Value> from_stored(const std::string& bytes, const std::array<std::int64_t, 4>& dims,
                               Convert convert) {
  const auto [height, width, in, out] = dims;
  std::vector<Value> values(bytes.size() / sizeof(Stored));
  std::size_t position = 0;
  for (std::int64_t h = 0; h < height; ++h)
    for (std::int64_t w = 0; w < width; ++w)
      for (std::int64_t i = 0; i < in; ++i)
        for (std::int64_t o = 0; o < out; ++o, position += sizeof(Stored)) {
          Stored stored;
          std::memcpy(&stored, bytes.data() + position, sizeof stored);
          values[static_cast<std::size_t>(((o * in + i) * height + h) * width + w)] =
              convert(stored);
        }
  return values;
}

decompose::Weights to_weights(const std::string& bytes, const std::array<std::int64_t, 4>& dims,
                              std::int32_t type) {
  if (type == tensorflow::kDouble)
    return from_stored<double, double>(bytes, dims, [](double value) { return value; });
  if (type == tensorflow::kHalf)
    return from_stored<std::uint16_t, float>(bytes, dims, tensorflow::float_from_half);
  return from_stored<float, float>(bytes, dims, [](float value) { return value; });
}

/// The inverse: a factor [out, in, height, width] as the checkpoint stores it.
std::string to_stored(const decompose::Weights& weights, const std::array<std::int64_t, 4>& shape,
                      std::int32_t type) {
  const auto [out, in, height, width] = shape;
  std::string bytes;
  std::visit(
      [&, out = out, in = in, height = height, width = width](const auto& values) {
        bytes.reserve(values.size() * sizeof values[0]);
        for (std::int64_t h = 0; h < height; ++h)
          for (std::int64_t w = 0; w < width; ++w)
            for (std::int64_t i = 0; i < in; ++i)
              for (std::int64_t o = 0; o < out; ++o) {
                const auto value =
                    values[static_cast<std::size_t>(((o * in + i) * height + h) * width + w)];
                char data[sizeof value];
                std::size_t size = sizeof value;
                if (type == tensorflow::kHalf) {
                  const std::uint16_t half = tensorflow::half_from_float(static_cast<float>(value));
                  size = sizeof half;
                  std::memcpy(data, &half, size);
                } else {
                  std::memcpy(data, &value, size);
                }
                bytes.append(data, size);
              }
      },
      weights);
  return bytes;
}

double largest_value(std::int32_t type) {
  if (type == tensorflow::kHalf) return kLargestHalf;
  return type == tensorflow::kDouble ? std::numeric_limits<double>::max()
                                     : std::numeric_limits<float>::max();
}

std::vector<decompose::Layer> make_layers(const MetaGraph& meta, const CheckpointReader& checkpoint,
                                          const std::vector<Convolution>& convolutions) {
  std::vector<decompose::Layer> layers;
  for (const Convolution& conv : convolutions) {
    decompose::Layer& layer = layers.emplace_back();
    layer.name = conv.name;
    layer.shape = {conv.out_channels, conv.in_channels, conv.kernel_h,
                   conv.kernel_w,     conv.stride_h,    conv.stride_w,
                   conv.dilation_h,   conv.dilation_w,  conv.groups};
    layer.weight_id = conv.kernel;
    layer.output_positions = conv.output_positions;
    layer.largest_value = largest_value(conv.data_type);
    layer.refusal = conv.refusal;
    layer.read_weights = [&meta, &checkpoint, &conv] {
      const std::array dims{conv.kernel_h, conv.kernel_w, conv.in_channels / conv.groups,
                            conv.out_channels};
      return to_weights(meta.read_kernel(checkpoint, conv.kernel), dims, conv.data_type);
    };
  }
  return layers;
}

/// A kernel is split for all of its convolutions or for none.
void hold_back_shared(const std::vector<Convolution>& convolutions,
                      std::vector<decompose::LayerResult>& layers) {
  std::map<std::string, std::string> left_alone;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (layers[i].mode == decompose::Mode::kUnchange)
      left_alone.emplace(convolutions[i].kernel, layers[i].name);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    decompose::LayerResult& layer = layers[i];
    const auto found = left_alone.find(convolutions[i].kernel);
    if (layer.mode == decompose::Mode::kUnchange || found == left_alone.end()) continue;
    layer.mode = decompose::Mode::kUnchange;
    layer.reason =
        fmt::format("it shares its kernel with '{}', which is left alone", found->second);
    layer.rank = layer.full_rank;
    layer.after = layer.before;
    layer.relative_error = 0;
    layer.factors.reset();
    layer.shares_with.reset();
  }
}

std::vector<tensorflow::KernelSplit> kernel_splits(
    const std::vector<Convolution>& convolutions,
    const std::vector<decompose::LayerResult>& layers) {
  std::vector<tensorflow::KernelSplit> splits;
  std::set<std::string> done;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].mode == decompose::Mode::kUnchange || !done.insert(convolutions[i].kernel).second)
      continue;
    splits.push_back(
        {convolutions[i].kernel, layers[i].rank, decompose::first_has_height(layers[i].mode)});
  }
  return splits;
}

void write_checkpoint(const CheckpointReader& from, const tensorflow::SplitResult& split,
                      const std::vector<Convolution>& convolutions,
                      std::vector<decompose::LayerResult>& layers, const std::string& save_path,
                      ResultFiles& results) {
  tensorflow::CheckpointWriter writer(save_path);
  for (const auto& [key, entry] : from.tensors())
    if (!std::ranges::binary_search(split.dropped_keys, key)) writer.copy(from, key);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].factors) continue;
    const auto kernel =
        std::ranges::find(split.kernels, convolutions[i].kernel, &tensorflow::SplitKernel::kernel);
    const decompose::Factors& factors = *layers[i].factors;
    writer.add(kernel->first.name, kernel->data_type, kernel->first.dims,
               to_stored(factors.first, factors.first_shape, kernel->data_type));
    writer.add(kernel->last.name, kernel->data_type, kernel->last.dims,
               to_stored(factors.last, factors.last_shape, kernel->data_type));
    layers[i].factors.reset();
  }
  results.add_files(writer.finish());
}

void log_result(const DecomposeTensorflowResult& result, std::size_t removed_training_nodes) {
  for (const decompose::LayerResult& layer : result.layers)
    if (layer.mode == decompose::Mode::kUnchange)
      log_debug("'{}' is left alone: {}", layer.name, layer.reason);
    else
      log_debug("'{}' is decomposed: {}, rank {} of {}", layer.name,
                decompose::to_string(layer.mode), layer.rank, layer.full_rank);
  log_info("{} of {} convolutions are decomposed", result.new_convolutions.size() / 2,
           result.layers.size());
  if (removed_training_nodes > 0)
    log_info(
        "the .meta holds a training part: {} nodes that depend on gradients of the old kernels are "
        "removed; build loss and optimizer again after decompose_graph",
        removed_training_nodes);
}

}  // namespace

DecomposeTensorflowResult decompose_tensorflow(const std::string& meta_path,
                                               const std::string& ckpt_path,
                                               const std::string& save_path,
                                               const decompose::Options& options, bool dry_run,
                                               const decompose::Progress& progress) {
  MetaGraph meta = MetaGraph::load(meta_path);
  const CheckpointReader checkpoint(ckpt_path);
  meta.check_belongs_to(checkpoint);
  if (!dry_run) {
    check_writable(save_path);
    refuse_to_overwrite(meta_path, save_path + ".meta");
    for (const char* suffix : {".index", ".data-00000-of-00001"})
      refuse_to_overwrite(ckpt_path + suffix, save_path + suffix);
  }
  const std::vector<Convolution> convolutions = meta.convolutions(checkpoint);
  const std::vector<decompose::Layer> layers = make_layers(meta, checkpoint, convolutions);
  DecomposeTensorflowResult result;
  result.layers = dry_run ? decompose::plan_network(layers, options, progress)
                          : decompose::decompose_network(layers, options, progress);
  hold_back_shared(convolutions, result.layers);
  const tensorflow::SplitResult split =
      meta.split(kernel_splits(convolutions, result.layers), checkpoint);
  for (const tensorflow::SplitConvolution& conv : split.convolutions) {
    result.new_convolutions.push_back(conv.first.name);
    result.new_convolutions.push_back(conv.last.name);
  }
  log_result(result, split.removed_training_nodes);
  if (dry_run) return result;
  ResultFiles files(save_path);
  write_checkpoint(checkpoint, split, convolutions, result.layers, save_path, files);
  files.add_text(save_path + ".meta", meta.serialize());
  files.add_text(save_path + ".pkl", decomposition_record(split));
  const std::filesystem::path path(save_path);
  files.add_text(path.parent_path() / "checkpoint",
                 tensorflow::checkpoint_state(path.filename().string()));
  result.files = files.commit();
  return result;
}

}  // namespace amct::workflow
