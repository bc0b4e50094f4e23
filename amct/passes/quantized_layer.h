#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "amct/ir/layer_view.h"
#include "amct/passes/quant_plan.h"

namespace amct::passes {

/// The Add of a constant that follows a MatMul and counts as its bias.
struct BiasAdd {
  ir::Node* node = nullptr;
  std::size_t constant_index = 0;
};

/// The bias Add of a MatMul: it alone reads the product, and its float32 constant has one number
/// per output channel on the last axis (or one for all) and does not raise the rank.
std::optional<BiasAdd> find_bias_add(const ir::LayerView& view);

/// Walks the planned layers in graph order and lets `rewrite` change each.
class PlannedLayers {
 public:
  /// Throws Error(kInvalidModel) when the model lacks a layer of the plan.
  PlannedLayers(ir::Model& model, const QuantPlan& plan);

  struct Layer {
    const LayerPlan* plan;
    ir::LayerView view;
    /// The node whose output is the layer's result: the layer, or the Add with its bias.
    ir::Node* last;
    /// Insert here what follows `last`; null: at the end.
    ir::Node* next;
  };
  void for_each(const std::function<void(const Layer&)>& rewrite) const;

 private:
  std::vector<Layer> layers_;
};

/// What identifies a quantizer: equal ones of one tensor are one node.
using QuantizerKey = std::tuple<const ir::Value*, float, std::int32_t, int>;
QuantizerKey quantizer_key(const PlannedLayers::Layer& layer);

/// deq_scale: float32(scale_d * scale_w), one or one per output channel.
std::vector<float> dequant_scales(const LayerPlan& plan);

/// Puts `tail` (whose first node reads the result) behind a layer: the layer's integer result gets
/// a new name and `tail` returns the node that computes what keeps the old name.
void append_to_layer(const PlannedLayers::Layer& layer,
                     const std::function<ir::Node*(ir::Value* integers)>& tail);

/// Declares the type of a value that a pass has made.
void set_type(ir::Value* value, ir::DataType type);

}  // namespace amct::passes
