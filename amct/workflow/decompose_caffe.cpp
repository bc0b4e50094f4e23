#include "amct/workflow/decompose_caffe.h"

#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/formats/caffe/matching.h"
#include "amct/formats/caffe/spatial_shapes.h"
#include "amct/formats/caffe/split_names.h"
#include "amct/workflow/caffe_sharing.h"

namespace amct::workflow {
namespace {

using decompose::Layer;
using decompose::LayerResult;
using decompose::Mode;
using std::filesystem::path;

constexpr double kLargestHalf = 65504;

bool same_file(const path& a, const path& b) {
  std::error_code error;
  return a.lexically_normal() == b.lexically_normal() || std::filesystem::equivalent(a, b, error);
}

void check_paths(const path& model, const path& weights, const path& new_model,
                 const path& new_weights) {
  for (const path* output : {&new_model, &new_weights}) {
    if (output->filename().empty())
      raise(ErrorCode::kUsage, "'{}' names no file for the decomposed network", output->string());
    for (const path* input : {&model, &weights})
      if (same_file(*output, *input))
        raise(ErrorCode::kUsage, "'{}' is the input and is not overwritten; choose another name",
              output->string());
  }
  if (same_file(new_model, new_weights))
    raise(ErrorCode::kUsage, "'{}' cannot hold both the new definition and the new weights",
          new_model.string());
}

double largest_value(caffe::BlobType type) {
  switch (type) {
    case caffe::BlobType::kHalf:
      return kLargestHalf;
    case caffe::BlobType::kFloat:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

Layer describe(const std::string& name, const caffe::MatchedConvolution& match,
               const caffe::WeightsFile& weights, std::int64_t output_positions) {
  Layer layer;
  layer.name = name;
  const caffe::Convolution& settings = match.settings;
  layer.refusal = settings.refusal;
  const std::int64_t group_channels = match.weight.dims.size() == 4 ? match.weight.dims[1] : 0;
  layer.shape = {.out_channels = settings.num_output,
                 .in_channels = group_channels * settings.groups,
                 .kernel_h = settings.window.kernel_h,
                 .kernel_w = settings.window.kernel_w,
                 .stride_h = settings.window.stride_h,
                 .stride_w = settings.window.stride_w,
                 .dilation_h = settings.dilation_h,
                 .dilation_w = settings.dilation_w,
                 .groups = settings.groups};
  layer.read_weights = [&weights, position = match.weights_layer] {
    return weights.read_blob(position, 0);
  };
  layer.output_positions = output_positions;
  layer.largest_value = largest_value(match.weight.type);
  return layer;
}

/// A network and what becomes of it.
class Rewrite {
 public:
  Rewrite(const caffe::Definition& definition, const caffe::WeightsFile& weights)
      : definition_(definition), weights_(weights), names_(definition, weights) {}

  /// Takes the results' factors.
  void plan(std::span<const caffe::MatchedConvolution> matches, std::span<LayerResult> results) {
    std::map<std::size_t, Pair> taken;  // by the result that had the factors
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].mode == Mode::kUnchange) continue;
      const std::size_t owner = results[i].shares_with.value_or(i);
      decompose::Factors& factors = results[owner].factors.value();
      const auto [entry, first_use] = taken.try_emplace(owner);
      if (first_use)
        entry->second = {std::make_shared<const caffe::Values>(std::exchange(factors.first, {})),
                         std::make_shared<const caffe::Values>(std::exchange(factors.last, {}))};
      const caffe::MatchedConvolution& match = matches[i];
      caffe::ConvolutionSplit split =
          names_.plan(definition_.layers()[match.layer], match.settings, factors.first_shape[0],
                      decompose::first_has_height(results[i].mode));
      texts_.emplace(match.layer, split);
      blobs_.try_emplace(
          match.weights_layer,
          caffe::WeightsSplit{std::move(split), factors.first_shape, factors.last_shape,
                              entry->second.first, entry->second.last});
    }
    for (LayerResult& result : results) result.factors.reset();
  }

  void write(AtomicFile& model, AtomicFile& weights) const {
    model.write(definition_.split(texts_));
    weights_.split(blobs_, [&weights](std::string_view bytes) { weights.write(bytes); });
  }

 private:
  struct Pair {
    std::shared_ptr<const caffe::Values> first, last;
  };

  const caffe::Definition& definition_;
  const caffe::WeightsFile& weights_;
  caffe::SplitNames names_;
  std::map<std::size_t, caffe::ConvolutionSplit> texts_;
  std::map<std::size_t, caffe::WeightsSplit> blobs_;
};

}  // namespace

std::vector<LayerResult> decompose_caffe(const path& model_file, const path& weights_file,
                                         const path& new_model_file, const path& new_weights_file,
                                         const decompose::Options& options, bool dry_run,
                                         const decompose::Progress& progress) {
  if (!dry_run) check_paths(model_file, weights_file, new_model_file, new_weights_file);
  const caffe::Definition definition = caffe::Definition::load(model_file);
  const caffe::WeightsFile weights = caffe::WeightsFile::load(weights_file);
  const auto matches = caffe::match_convolutions(definition, weights);
  const std::vector<std::int64_t> positions = caffe::output_positions(definition);
  std::vector<Layer> layers;
  for (const caffe::MatchedConvolution& match : matches)
    layers.push_back(
        describe(definition.layers()[match.layer].name, match, weights, positions[match.layer]));
  find_shared_weights(definition, weights, matches, layers);
  if (dry_run) {
    auto results = decompose::plan_network(layers, options, progress);
    leave_partly_shared(layers, results);
    return results;
  }
  // Opened first: a place that cannot be written is not found after the work.
  AtomicFile model(new_model_file), new_weights(new_weights_file);
  auto results = decompose::decompose_network(layers, options, progress);
  leave_partly_shared(layers, results);
  Rewrite rewrite(definition, weights);
  rewrite.plan(matches, results);
  rewrite.write(model, new_weights);
  for (AtomicFile* file : {&model, &new_weights}) file->sync();
  for (AtomicFile* file : {&model, &new_weights}) {
    if (std::filesystem::exists(file->path()))
      log_warning("'{}' exists and is replaced", file->path().string());
    file->commit();
  }
  return results;
}

}  // namespace amct::workflow
