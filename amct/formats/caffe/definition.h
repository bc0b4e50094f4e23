#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "amct/formats/caffe/convolution_split.h"
#include "amct/formats/caffe/prototxt.h"

namespace amct::caffe {

/// A layer of a network definition. `v1`: written the old way, as "layers" with an enumeration for
/// its type, e.g. CONVOLUTION.
struct LayerText {
  const Field* field = nullptr;
  const Value* value = nullptr;
  bool v1 = false;
  std::string name;
  std::string type;
  std::vector<std::string> bottoms;
  std::vector<std::string> tops;
  /// Names under which its blobs are shared; "" for a blob that is not.
  std::vector<std::string> param_names;

  bool is_convolution() const { return type == (v1 ? "CONVOLUTION" : "Convolution"); }
};

/// What a Convolution layer says of itself.
struct Convolution {
  std::int64_t num_output = 0;
  Window window;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;
  std::int64_t groups = 1;
  bool has_bias = true;
  std::string refusal;  // why it can only stay as it is; empty when it may be split
};

/// A network definition (.prototxt). Only what is needed is interpreted, all the rest is kept.
class Definition {
 public:
  // Its layers point into its tree.
  Definition(Definition&&) = default;
  Definition(const Definition&) = delete;
  Definition& operator=(Definition&&) = default;
  Definition& operator=(const Definition&) = delete;

  static Definition load(const std::filesystem::path& path);
  /// `name` stands for the file in messages. Throws Error(kInvalidModel | kUnsupported).
  static Definition parse(std::string text, std::string name);

  const Prototxt& file() const { return file_; }
  const std::vector<LayerText>& layers() const { return layers_; }

  /// The settings of a layer for which is_convolution().
  Convolution convolution(const LayerText& layer) const;

  /// The definition with layers split; the keys are positions in layers().
  std::string split(const std::map<std::size_t, ConvolutionSplit>& splits) const;

 private:
  Definition() = default;
  void add_layer(const Field& field, const Value& value, bool v1);

  Prototxt file_;
  std::vector<LayerText> layers_;
};

}  // namespace amct::caffe
