#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "amct/formats/caffe/convolution_split.h"

namespace amct::caffe {

using Values = std::variant<std::vector<float>, std::vector<double>>;

enum class BlobType { kFloat, kDouble, kHalf };

struct BlobInfo {
  BlobType type = BlobType::kFloat;
  std::vector<std::int64_t> dims;
};

/// A split with the weights of its halves, [r, Cin, KH, KW] and [Cout, r, KH, KW], row-major.
struct WeightsSplit {
  ConvolutionSplit layers;
  std::array<std::int64_t, 4> first_dims{};
  std::array<std::int64_t, 4> last_dims{};
  std::shared_ptr<const Values> first;
  std::shared_ptr<const Values> last;
};

/// A weights file (.caffemodel), mapped; one layer at a time is taken into memory. What is not
/// split is written back byte for byte.
class WeightsFile {
 public:
  static WeightsFile load(const std::filesystem::path& path);
  /// Parses bytes that live as long as the result; `name` stands for the file in messages. Throws
  /// Error(kInvalidModel | kUnsupported).
  static WeightsFile parse(std::string_view bytes, std::string name);

  const std::string& name() const { return name_; }
  std::size_t layer_count() const { return layers_.size(); }
  const std::string& layer_name(std::size_t layer) const { return layers_[layer].name; }
  /// Positions of the layers of that name.
  std::vector<std::size_t> find(std::string_view layer_name) const;

  /// Reads a layer. These throw Error(kInvalidModel | kUnsupported) that names file and layer.
  std::vector<BlobInfo> blobs(std::size_t layer) const;
  Values read_blob(std::size_t layer, std::size_t blob) const;

  /// Writes the file with layers split, piece by piece; the keys are positions of layers.
  void split(const std::map<std::size_t, WeightsSplit>& splits,
             const std::function<void(std::string_view)>& write) const;

 private:
  struct Layer {
    std::string name;
    bool v1 = false;
    std::string_view field;    // with its tag and length
    std::string_view message;  // its content
  };

  void add_layer(std::string_view field, std::string_view message, bool v1);
  template <typename Message>
  Message parse_layer(const Layer& layer) const;
  template <typename Action>
  auto with_layer(const Layer& layer, const Action& action) const;

  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
  std::string name_;
  std::vector<Layer> layers_;
};

}  // namespace amct::caffe
