#include "amct/formats/caffe/spatial_shapes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace amct::caffe {
namespace {

/// No image is larger; keeps all sums far from overflow.
constexpr std::int64_t kLargest = std::int64_t{1} << 24;

struct Size {
  std::int64_t h = 0;
  std::int64_t w = 0;
};

/// Layers, new and old spelling in capitals, whose tops are as large as their first bottom.
constexpr std::string_view kKeepSize[] = {
    "ABSVAL",  "BATCHNORM", "BIAS",  "BNLL",  "CONCAT", "DROPOUT",  "ELTWISE", "ELU",
    "EXP",     "LOG",       "LRN",   "MVN",   "POWER",  "PRELU",    "RELU",    "SCALE",
    "SIGMOID", "SOFTMAX",   "SPLIT", "SWISH", "TANH",   "THRESHOLD"};

std::string capitals(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::optional<Size> checked(std::int64_t h, std::int64_t w) {
  if (h < 1 || w < 1 || h > kLargest || w > kLargest) return std::nullopt;
  return Size{h, w};
}

class SizeInference {
 public:
  explicit SizeInference(const Definition& definition)
      : definition_(definition), file_(definition.file()) {}

  std::vector<std::int64_t> run() {
    read_inputs();
    std::vector<std::int64_t> positions;
    for (const LayerText& layer : definition_.layers()) {
      const std::optional<Size> size = layer_size(layer);
      for (const std::string& top : layer.tops) {
        sizes_.erase(top);
        if (size) sizes_.emplace(top, *size);
      }
      positions.push_back(size ? size->h * size->w : 0);
    }
    return positions;
  }

 private:
  using Fields = std::vector<Field>;

  /// The old way: "input", and "input_dim" or "input_shape", of the network itself.
  void read_inputs() {
    const Fields& net = file_.fields();
    const auto inputs = all(net, "input"), dims = all(net, "input_dim"),
               shapes = all(net, "input_shape");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::optional<Size> size;
      if (i < shapes.size()) {
        size = shape_size(*shapes[i]);
      } else if (4 * i + 3 < dims.size()) {
        size = checked(as_uint(file_, *dims[4 * i + 2]), as_uint(file_, *dims[4 * i + 3]));
      }
      if (size) sizes_.emplace(inputs[i]->text, *size);
    }
  }

  std::optional<Size> shape_size(const Value& shape) const {
    const auto dims = all(as_message(file_, shape), "dim");
    if (dims.size() != 4) return std::nullopt;
    return checked(as_uint(file_, *dims[2]), as_uint(file_, *dims[3]));
  }

  const Fields* parameters(const LayerText& layer, std::string_view name) const {
    const Value* value = find(file_, layer.value->fields, name);
    return value == nullptr ? nullptr : &as_message(file_, *value);
  }

  std::optional<Size> layer_size(const LayerText& layer) const {
    const std::string type = capitals(layer.type);
    if (layer.bottoms.empty()) return source_size(layer);
    const auto bottom = sizes_.find(layer.bottoms[0]);
    if (bottom == sizes_.end()) return std::nullopt;
    if (layer.is_convolution() || type == "DECONVOLUTION")
      return convolved(bottom->second, definition_.convolution(layer), type == "DECONVOLUTION");
    if (type == "POOLING") return pooled(bottom->second, layer);
    if (std::find(std::begin(kKeepSize), std::end(kKeepSize), type) != std::end(kKeepSize))
      return bottom->second;
    return std::nullopt;
  }

  /// Input layers, and data layers that crop.
  std::optional<Size> source_size(const LayerText& layer) const {
    if (const Fields* input = parameters(layer, "input_param")) {
      const auto shapes = all(*input, "shape");
      return shapes.empty() ? std::nullopt : shape_size(*shapes.front());
    }
    if (const Fields* transform = parameters(layer, "transform_param"))
      if (const Value* crop = find(file_, *transform, "crop_size"))
        return checked(as_uint(file_, *crop), as_uint(file_, *crop));
    return std::nullopt;
  }

  static std::optional<Size> convolved(Size in, const Convolution& c, bool transposed) {
    const auto along = [transposed](std::int64_t size, std::int64_t kernel, std::int64_t stride,
                                    std::int64_t pad, std::int64_t dilation) {
      // Larger settings than any image: not worth a sum that may overflow.
      if (std::max({kernel, stride, pad, dilation}) > kLargest) return std::int64_t{0};
      const std::int64_t extent = dilation * (kernel - 1) + 1;
      if (transposed) return stride * (size - 1) + extent - 2 * pad;
      return size + 2 * pad < extent ? 0 : (size + 2 * pad - extent) / stride + 1;
    };
    const Window& w = c.window;
    return checked(along(in.h, w.kernel_h, w.stride_h, w.pad_h, c.dilation_h),
                   along(in.w, w.kernel_w, w.stride_w, w.pad_w, c.dilation_w));
  }

  /// Caffe rounds up, unless told otherwise, and drops windows that begin in the padding.
  std::optional<Size> pooled(Size in, const LayerText& layer) const {
    const Fields* settings = parameters(layer, "pooling_param");
    if (settings == nullptr) return std::nullopt;
    const auto setting = [&](const char* name, const char* axis_name, std::uint32_t fallback) {
      const Value* value = find(file_, *settings, axis_name);
      if (value == nullptr) value = find(file_, *settings, name);
      return std::int64_t{value == nullptr ? fallback : as_uint(file_, *value)};
    };
    if (const Value* global = find(file_, *settings, "global_pooling"))
      if (as_bool(file_, *global)) return Size{1, 1};
    const Value* rounding = find(file_, *settings, "round_mode");
    const bool down = rounding != nullptr && (rounding->text == "FLOOR" || rounding->text == "1");
    const auto along = [down](std::int64_t size, std::int64_t kernel, std::int64_t stride,
                              std::int64_t pad) {
      if (stride < 1 || size + 2 * pad < kernel) return std::int64_t{0};
      const std::int64_t room = size + 2 * pad - kernel;
      std::int64_t count = (down ? room : room + stride - 1) / stride + 1;
      if (pad > 0 && (count - 1) * stride >= size + pad) --count;
      return count;
    };
    return checked(along(in.h, setting("kernel_size", "kernel_h", 0),
                         setting("stride", "stride_h", 1), setting("pad", "pad_h", 0)),
                   along(in.w, setting("kernel_size", "kernel_w", 0),
                         setting("stride", "stride_w", 1), setting("pad", "pad_w", 0)));
  }

  const Definition& definition_;
  const Prototxt& file_;
  std::unordered_map<std::string, Size> sizes_;
};

}  // namespace

std::vector<std::int64_t> output_positions(const Definition& definition) {
  return SizeInference(definition).run();
}

}  // namespace amct::caffe
