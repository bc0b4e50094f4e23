#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amct/config/model_info.h"
#include "amct/config/quant_config.h"
#include "amct/config/violations.h"

namespace amct::config {

/// Looks up the names in a config among those of the model. The model and the violations must
/// outlive it.
class NameCheck {
 public:
  NameCheck(const ModelInfo& model, Violations* violations);

  /// Returns the quantizable layer of the name. Null if there is none: a warning is logged if the
  /// model has such a node, else a violation with similar names is added.
  const LayerInfo* layer(const std::string& where, const std::string& name);

  /// Returns the node of the name; null with a violation if there is none.
  const NodeInfo* node(const std::string& where, const std::string& name);

  /// Checks an operator type: a violation if neither the model nor AMCT knows it, a warning if it
  /// is not quantizable or does not occur.
  void type(const std::string& where, const std::string& name);

  /// Checks names, operator types, input indices and repetitions of tensors to quantize.
  void tensors(const std::vector<TensorQuantize>& tensors);

 private:
  void unknown(const std::string& where, std::string_view kind, const std::string& name,
               const std::vector<std::string_view>& candidates);

  std::unordered_map<std::string_view, const LayerInfo*> layers_;
  std::unordered_map<std::string_view, const NodeInfo*> nodes_;
  std::vector<std::string_view> node_names_;
  std::vector<std::string_view> types_;            // those of the model and the quantizable ones
  std::vector<std::string_view> quantized_types_;  // those of the model's quantizable layers
  Violations& violations_;
  std::size_t num_suggestions_ = 0;
};

/// Returns whether the config's operator type means this layer; Conv2d is Conv with a 4-D weight.
bool type_matches(std::string_view type, const LayerInfo& layer);

/// Returns whether the layer's activation may be asymmetric: not if it has no constant weight.
bool allows_asymmetric(const LayerInfo& layer);

/// Returns whether the layer's activation may have 16 bits: not that of MatMul (spec
/// onnx_and_cli 9.2, OP-7).
bool allows_int16(const LayerInfo& layer);

/// Returns whether the layer may have weights of 6 or 7 bits.
bool is_conv_2d(const LayerInfo& layer);

}  // namespace amct::config
