// Definition::split: the text of each half is the text of the layer with what differs replaced.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "amct/base/assert.h"
#include "amct/formats/caffe/definition.h"

namespace amct::caffe {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class HalfText {
 public:
  HalfText(const Prototxt& file, const LayerText& layer) : layer_(layer), edit_(file) {}

  std::string first(const ConvolutionSplit& split) {
    set_strings("top", split.middle);
    set_half(split.first, true);
    edit_.truncate(fields(), "param", 1);
    edit_.truncate(fields(), "blobs_lr", 1);
    edit_.truncate(fields(), "weight_decay", 1);
    edit_.truncate(fields(), "blob_share_mode", 1);
    edit_.truncate(fields(), "loss_weight", 0);
    return text();
  }

  std::string last(const ConvolutionSplit& split) {
    set_strings("bottom", split.middle);
    set_half(split.last, false);
    // Gradients must reach the first half, also where they went no further than this layer.
    edit_.truncate(fields(), "propagate_down", 0);
    return text();
  }

 private:
  const std::vector<Field>& fields() const { return layer_.value->fields; }
  std::string text() const { return edit_.apply(layer_.value->begin, layer_.value->end); }

  void set_string(const Value& value, const std::string& text) {
    edit_.replace(value.begin, value.end, quote(text));
  }

  void set_strings(std::string_view name, const std::vector<std::string>& texts) {
    const std::vector<const Value*> values = all(fields(), name);
    AMCT_ASSERT(values.size() == texts.size());
    for (std::size_t i = 0; i < values.size(); ++i) set_string(*values[i], texts[i]);
  }

  void set_half(const HalfConvolution& half, bool first) {
    set_string(*all(fields(), "name").front(), half.name);
    if (!half.param_name.empty()) {
      const Value& param = *all(fields(), "param").front();
      set_string(layer_.v1 ? param : *all(param.fields, "name").front(), half.param_name);
    }
    set_window(all(fields(), "convolution_param").front()->fields, half, first);
  }

  void set_window(const std::vector<Field>& settings, const HalfConvolution& half, bool first) {
    const Window& window = half.window;
    std::vector<std::string> lines{fmt::format("kernel_h: {}", window.kernel_h),
                                   fmt::format("kernel_w: {}", window.kernel_w)};
    if (window.pad_h != 0 || window.pad_w != 0) {
      lines.push_back(fmt::format("pad_h: {}", window.pad_h));
      lines.push_back(fmt::format("pad_w: {}", window.pad_w));
    }
    if (window.stride_h != 1 || window.stride_w != 1) {
      lines.push_back(fmt::format("stride_h: {}", window.stride_h));
      lines.push_back(fmt::format("stride_w: {}", window.stride_w));
    }
    if (first) lines.emplace_back("bias_term: false");
    bool written = false;
    for (const Field& field : settings) {
      const std::string& name = field.name;
      if (name == "num_output") {
        const Value& value = field.values.front();
        edit_.replace(value.begin, value.end, std::to_string(half.num_output));
      } else if (!written && is_one_of(name, {"kernel_size", "kernel_h", "kernel_w"})) {
        edit_.replace(field, lines);
        written = true;
      } else if (is_one_of(name, {"kernel_size", "kernel_h", "kernel_w", "pad", "pad_h", "pad_w",
                                  "stride", "stride_h", "stride_w"}) ||
                 (first && is_one_of(name, {"bias_term", "bias_filler"}))) {
        edit_.remove(field);
      }
    }
  }

  const LayerText& layer_;
  TextEdit edit_;
};

}  // namespace

std::string Definition::split(const std::map<std::size_t, ConvolutionSplit>& splits) const {
  TextEdit edit(file_);
  for (const auto& [position, split] : splits) {
    const LayerText& layer = layers_[position];
    const std::size_t begin = layer.value->begin, end = layer.value->end;
    const std::string first = HalfText(file_, layer).first(split);
    const std::string last = HalfText(file_, layer).last(split);
    if (layer.field->list) {
      edit.replace(begin, end, first + ", " + last);
      continue;
    }
    const auto indent = indentation(file_, layer.field->begin);
    // "layer", as it is written before the first half.
    const std::string head = file_.text().substr(layer.field->begin, begin - layer.field->begin);
    const std::string gap = indent ? "\n" + std::string(*indent) : " ";
    edit.replace(begin, end, first + gap + head + last);
  }
  return edit.apply(0, file_.text().size());
}

}  // namespace amct::caffe
