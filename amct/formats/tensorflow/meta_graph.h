#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amct/formats/tensorflow/checkpoint.h"

namespace amct::tensorflow {

/// A 2-D convolution of a graph; numbers are 0 where `refusal` keeps them from being known.
struct Convolution {
  std::string name;
  std::string kernel;   // names the kernel; convolutions of one name share it
  std::string refusal;  // why it cannot be split; empty when it can
  std::int32_t data_type = 0;
  std::int64_t kernel_h = 0;
  std::int64_t kernel_w = 0;
  std::int64_t in_channels = 0;  // of the convolution's input
  std::int64_t out_channels = 0;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t groups = 1;
  std::int64_t output_positions = 0;  // height times width of the output; 0 when not known
};

/// How to split a kernel: into [height, 1, in, rank] and [1, width, rank, out], or, when the first
/// has the width, [1, width, in, rank] and [height, 1, rank, out].
struct KernelSplit {
  std::string kernel;
  std::int64_t rank = 0;
  bool first_has_height = true;
};

struct NewVariable {
  std::string name;  // of the node, and key in the checkpoint
  std::array<std::int64_t, 4> dims{};
};

struct SplitKernel {
  std::string kernel;
  std::vector<std::string> replaced;  // names of the variables that held it
  std::int32_t data_type = 0;
  bool resource = false;
  NewVariable first;
  NewVariable last;
};

/// What a Conv2D node became.
struct ConvNode {
  std::string name;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> explicit_paddings;
};
struct SplitConvolution {
  std::string name;
  std::string kernel;
  std::string data_format;
  std::string padding;
  bool has_bias = false;
  ConvNode original;
  ConvNode first;
  ConvNode last;
};

struct SplitResult {
  std::vector<SplitKernel> kernels;
  std::vector<SplitConvolution> convolutions;
  /// Keys of the checkpoint that the split graph no longer knows: kernels and optimizer slots.
  std::vector<std::string> dropped_keys;
  /// Nodes of the training part that were removed.
  std::size_t removed_training_nodes = 0;
};

/// A MetaGraphDef (.meta) with everything in it, known or not.
class MetaGraph {
 public:
  /// Throws Error(kIo | kInvalidModel) that names the file and says what it looks like instead.
  static MetaGraph load(const std::filesystem::path& path);
  static MetaGraph parse(std::string_view bytes, std::string_view name);
  MetaGraph(MetaGraph&&) noexcept;
  ~MetaGraph();

  std::string serialize() const;

  /// Throws Error(kInvalidModel), naming variables, unless the checkpoint holds all that the
  /// .meta's saver restores, in the right shapes and types.
  void check_belongs_to(const CheckpointReader& checkpoint) const;

  /// Every Conv2D and DepthwiseConv2dNative node, in the graph's order.
  std::vector<Convolution> convolutions(const CheckpointReader& checkpoint) const;
  /// The values of a kernel of convolutions(), row-major [height, width, in, out].
  std::string read_kernel(const CheckpointReader& checkpoint, const std::string& kernel) const;

  /// Replaces every convolution on these kernels by two. Nodes behind a convolution read the second
  /// one; the old name stays as an Identity of it. Savers, collections and initializers are changed
  /// to match; gradients of the old kernels, and what depends on them (the training operation), are
  /// removed with the old kernels' optimizer slots. All else that reads an old kernel (weight
  /// decay, summaries) reads the product of the new ones. The kernels must be of convolutions()
  /// without refusal, each with all its convolutions.
  SplitResult split(std::span<const KernelSplit> splits, const CheckpointReader& checkpoint);

 private:
  struct State;
  explicit MetaGraph(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace amct::tensorflow
