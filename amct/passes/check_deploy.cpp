#include "amct/passes/check_deploy.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "amct/base/error.h"
#include "amct/ir/layer_view.h"
#include "amct/passes/eligibility.h"
#include "amct/passes/pattern.h"
#include "amct/quant/factor.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::LayerKind;
using ir::LayerView;
using ir::Node;
using ir::Value;

constexpr std::uint64_t kMaxShift = 16;
constexpr float kReciprocalTolerance = 1e-5F;

bool is_ascend_name(const Node& node) {
  return node.op_type == "AscendQuant" || node.op_type == "AscendDequant" ||
         node.op_type == "AscendAntiQuant";
}

const Node* producer_if(const Value* value, std::string_view op_type) {
  const Node* producer = value != nullptr ? value->producer() : nullptr;
  return producer != nullptr && is_op(*producer, op_type) ? producer : nullptr;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/// The number of bits that AscendQuant's dst_type names; 0 when it names none.
int bits_of(const std::string& dst_type) {
  if (dst_type == "INT8") return 8;
  if (dst_type == "INT16") return 16;
  return dst_type == "INT4" ? 4 : 0;
}

DataType type_of(const Value& value) {
  return value.constant() != nullptr ? value.constant()->type() : value.type.data_type;
}

class Checker {
 public:
  std::vector<Finding> findings;

  void check_nodes(ir::Graph& graph) {
    for (const auto& node : graph.nodes()) {
      try {
        check_node(*node);
      } catch (const Error& error) {
        this->error(*node, error.what());
      }
    }
  }

 private:
  void error(const Node& node, std::string message) {
    findings.push_back({Severity::kError, node.label(), std::move(message)});
  }
  void warn(const Node& node, std::string message) {
    findings.push_back({Severity::kWarning, node.label(), std::move(message)});
  }

  void check_node(Node& node) {
    if (is_ascend_name(node) && !is_op(node, node.op_type)) {
      error(node,
            fmt::format("{} is in domain '{}'; the compiler knows it in the default domain only",
                        node.op_type, node.domain));
      return;
    }
    const auto view = ir::view_onnx_layer(node);
    if ((view || is_ascend_name(node)) && node.outputs().empty()) {
      error(node, "it has no output");
      return;
    }
    if (is_op(node, "AscendQuant"))
      check_quant(node);
    else if (is_op(node, "AscendDequant"))
      check_dequant(node);
    else if (is_op(node, "AscendAntiQuant"))
      check_anti_quant(node);
    else if (view)
      check_layer(*view);
  }

  /// The attribute when it has the kind T; a finding when it has another or is missing.
  template <typename T>
  const T* attribute(const Node& node, const char* name, const char* kind, bool required) {
    const ir::Attribute* found = node.find_attribute(name);
    if (found == nullptr) {
      if (required) error(node, fmt::format("attribute '{}' is missing; expected {}", name, kind));
      return nullptr;
    }
    const T* value = std::get_if<T>(&found->data);
    if (value == nullptr)
      error(node, fmt::format("attribute '{}' is of the wrong kind; expected {}", name, kind));
    return value;
  }

  void check_scale(const Node& node) {
    const float* scale = attribute<float>(node, "scale", "FLOAT", true);
    if (scale != nullptr && !(*scale >= quant::kMinScale && *scale <= quant::kMaxScale))
      error(node, fmt::format("scale is {}; expected {} to {}", *scale, quant::kMinScale,
                              quant::kMaxScale));
  }

  void check_integer(const Node& node, const char* name, std::int64_t high) {
    const auto* value = attribute<std::int64_t>(node, name, "INT", false);
    if (value != nullptr && (*value < 0 || *value > high))
      error(node, fmt::format("{} is {}; expected 0 to {}", name, *value, high));
  }

  void check_quant(const Node& node) {
    check_scale(node);
    check_integer(node, "sqrt_mode", 1);
    const int bits = check_dst_type(node);
    check_offset(node, bits);
    check_round_mode(node);
    const Value* input = node.input(0);
    if (input == nullptr || node.inputs().size() != 1) {
      error(node, fmt::format("it has {} inputs; expected 1", node.inputs().size()));
      return;
    }
    const DataType type = type_of(*input);
    if (type != DataType::kUndefined && type != DataType::kFloat && type != DataType::kFloat16)
      error(node, fmt::format("its input is {}; expected float32 or float16", ir::to_string(type)));
    if (bits == 4 && input->type.shape && !input->type.shape->empty() &&
        input->type.shape->back().value.value_or(0) % 2 != 0)
      error(node, "INT4 needs an even last dimension");
    check_readers(node);
  }

  int check_dst_type(const Node& node) {
    if (node.find_attribute("dst_type") == nullptr) {
      warn(node, "attribute 'dst_type' is missing; the compiler takes INT8");
      return 8;
    }
    const auto* text = attribute<std::string>(node, "dst_type", "STRING", false);
    if (text == nullptr) return 8;
    const int bits = bits_of(trimmed(*text));
    if (bits == 0)
      error(node, fmt::format("dst_type is '{}', which the compiler takes for INT8; expected INT8, "
                              "INT16 or INT4",
                              *text));
    return bits == 0 ? 8 : bits;
  }

  void check_offset(const Node& node, int bits) {
    const float* offset = attribute<float>(node, "offset", "FLOAT", true);
    if (offset == nullptr) return;
    const auto half = static_cast<float>(1 << (bits - 1));
    if (!(*offset >= -half && *offset <= half - 1.0F) || *offset != std::floor(*offset))
      error(node, fmt::format("offset is {}; expected an integer from {} to {}", *offset, -half,
                              half - 1.0F));
  }

  void check_round_mode(const Node& node) {
    constexpr std::array<std::string_view, 5> kModes = {"Round", "Floor", "Ceil", "Trunc",
                                                        "Hybrid"};
    const auto* mode = attribute<std::string>(node, "round_mode", "STRING", false);
    if (mode != nullptr && std::ranges::find(kModes, *mode) == kModes.end())
      error(node,
            fmt::format("round_mode is '{}'; expected Round, Floor, Ceil, Trunc or Hybrid", *mode));
  }

  void check_readers(const Node& quant) {
    if (quant.output()->uses().empty() && !is_exposed(*quant.output()))
      warn(quant, "nothing reads its output");
    for (const ir::Use& use : quant.output()->uses()) {
      const bool taken = (use.index == 0 && is_op(*use.node, "AscendAntiQuant")) ||
                         ((use.index == 0 || is_op(*use.node, "MatMul")) &&
                          ir::view_onnx_layer(*use.node).has_value());
      if (!taken)
        error(quant, fmt::format("its integer output is read by {} '{}'; only Conv, ConvTranspose, "
                                 "Gemm, MatMul, AveragePool and AscendAntiQuant take it as data",
                                 use.node->op_type, use.node->label()));
    }
  }

  void check_layer(const LayerView& view) {
    const Node& node = *view.node;
    if (producer_if(view.activation, "AscendQuant") == nullptr) {
      if (producer_if(view.weight, "AscendQuant") != nullptr ||
          (view.weight != nullptr && type_of(*view.weight) == DataType::kInt8))
        error(node, "its weight is int8, but its data do not come from an AscendQuant");
      return;
    }
    if (view.weight_index) check_weight(view);
    if (view.bias != nullptr) check_bias(node, *view.bias, view.output_channels);
    if (view.kind == LayerKind::kGemm) check_gemm(node);
    check_result(view);
  }

  void check_weight(const LayerView& view) {
    const Node& node = *view.node;
    if (view.weight == nullptr) {
      error(node, "its weight is missing");
    } else if (const Node* quant = producer_if(view.weight, "AscendQuant")) {
      if (quant->attribute_float("offset", 0.0F) != 0.0F ||
          view.activation->producer()->attribute_float("offset", 0.0F) != 0.0F)
        error(node, "both of its inputs are quantized at run time; then both offsets must be 0");
    } else if (view.weight->constant() == nullptr) {
      error(node, "its data are quantized, but its weight is not constant");
    } else if (!has_rank_of_kind(view)) {
      error(node, fmt::format("its weight has {} dimensions", view.weight->constant()->rank()));
    } else if (const DataType type = view.weight->constant()->type(); type != DataType::kInt8) {
      error(node, fmt::format("its data are quantized, but its weight is {}; expected int8",
                              ir::to_string(type)));
    }
  }

  static bool has_rank_of_kind(const LayerView& view) {
    const std::size_t rank = view.weight->constant()->rank();
    if (view.kind == LayerKind::kGemm) return rank == 2;
    return view.kind == LayerKind::kMatMul ? rank >= 1 : rank >= 3;
  }

  void check_bias(const Node& node, const Value& bias, std::int64_t channels) {
    const ir::Tensor* tensor = bias.constant();
    if (tensor == nullptr)
      error(node, "its data are quantized, but its bias is not constant");
    else if (tensor->type() != DataType::kInt32)
      error(node, fmt::format("its bias is {}; expected int32", ir::to_string(tensor->type())));
    else if (channels > 0 && tensor->size() != channels)
      error(node, fmt::format("its bias has {} values; expected {}, one per output channel",
                              tensor->size(), channels));
  }

  void check_gemm(const Node& node) {
    if (node.attribute_int("transA", 0) != 0) error(node, "transA is set; expected 0");
    if (node.attribute_int("transB", 0) != 0)
      warn(node, "transB is set; deploy models hold the weight transposed beforehand");
    if (node.attribute_float("alpha", 1.0F) != 1.0F || node.attribute_float("beta", 1.0F) != 1.0F)
      error(node, "alpha or beta is not 1, which integers cannot express");
  }

  /// The int32 result must reach AscendDequant, for a MatMul also through its bias Add.
  void check_result(const LayerView& view) {
    const Node& node = *view.node;
    const Value& result = *node.output();
    if (is_exposed(result))
      error(node, "its integer result is an output of the graph");
    else if (result.uses().empty())
      warn(node, "nothing reads its result");
    for (const ir::Use& use : result.uses()) {
      if (use.index == 0 && is_op(*use.node, "AscendDequant")) continue;
      if (view.kind == LayerKind::kMatMul && is_op(*use.node, "Add")) {
        check_bias_add(view, use);
        continue;
      }
      error(node, fmt::format("its integer result is read by {} '{}'; expected AscendDequant",
                              use.node->op_type, use.node->label()));
    }
  }

  void check_bias_add(const LayerView& matmul, const ir::Use& use) {
    const Node& add = *use.node;
    const Value* bias = add.input(1 - use.index);
    if (bias == nullptr)
      error(add, "its bias is missing");
    else
      check_bias(add, *bias, matmul.output_channels);
    const Value& sum = *add.output();
    const bool dequantized = std::ranges::all_of(sum.uses(), [](const ir::Use& reader) {
      return reader.index == 0 && is_op(*reader.node, "AscendDequant");
    });
    if (!dequantized || is_exposed(sum))
      error(add, "its integer result must be read by AscendDequant only");
  }

  /// The quantized layer whose result an AscendDequant reads.
  static std::optional<LayerView> layer_in_front(const Value* value) {
    Node* producer = value != nullptr ? value->producer() : nullptr;
    if (producer != nullptr && is_op(*producer, "Add")) {
      const std::size_t index = producer_if(producer->input(0), "MatMul") != nullptr ? 0 : 1;
      const Value* product = producer->input(index);
      producer = product != nullptr ? product->producer() : nullptr;
      if (producer != nullptr && !is_op(*producer, "MatMul")) producer = nullptr;
    }
    if (producer == nullptr) return std::nullopt;
    const auto view = ir::view_onnx_layer(*producer);
    if (!view || producer_if(view->activation, "AscendQuant") == nullptr) return std::nullopt;
    return view;
  }

  void check_dequant(const Node& node) {
    check_integer(node, "dtype", 1);
    check_integer(node, "sqrt_mode", 1);
    check_integer(node, "relu_flag", 1);
    if (node.inputs().size() != 2 || node.input(0) == nullptr || node.input(1) == nullptr) {
      error(node, fmt::format("it has {} inputs; expected the int32 data and deq_scale",
                              node.inputs().size()));
      return;
    }
    const auto layer = layer_in_front(node.input(0));
    if (!layer) error(node, "its data do not come from a layer that an AscendQuant feeds");
    const ir::Tensor* scales = node.input(1)->constant();
    if (scales == nullptr || scales->type() != DataType::kUInt64) {
      error(node, fmt::format("deq_scale '{}' is {}; expected a constant of type uint64",
                              node.input(1)->name(),
                              scales != nullptr ? ir::to_string(scales->type()) : "no constant"));
      return;
    }
    check_length(node, *scales, layer);
    check_words(node, scales->values<std::uint64_t>());
  }

  void check_length(const Node& node, const ir::Tensor& scales,
                    const std::optional<LayerView>& layer) {
    const std::int64_t channels = layer ? layer->output_channels : 0;
    if (scales.rank() != 1 || scales.empty())
      error(node, fmt::format("deq_scale has {} dimensions and {} values; expected one dimension",
                              scales.rank(), scales.size()));
    else if (layer && scales.size() != 1 && scales.size() != channels)
      error(node, channels > 0 ? fmt::format("deq_scale has {} values; expected 1 or {}",
                                             scales.size(), channels)
                               : fmt::format("deq_scale has {} values; expected 1", scales.size()));
  }

  /// Names the first word that is wrong (bit layout: upstream_facts 1.3).
  void check_words(const Node& node, std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint64_t word = words[i];
      const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(word));
      const char* wrong = nullptr;
      if (word >> 48U != 0)
        wrong = "bits 48 to 63 must be 0";
      else if ((word >> 40U & 0xFFU) != 0)
        wrong = "the weight offset in bits 40 to 47 must be 0";
      else if ((word >> 32U & 0xFFU) > kMaxShift)
        wrong = "the shift in bits 32 to 39 exceeds 16";
      else if ((word >> 32U & 0xFFU) != (words[0] >> 32U & 0xFFU))
        wrong = "the shift in bits 32 to 39 differs from that of the first";
      else if (!std::isfinite(scale) || scale <= 0.0F)
        wrong = "the float32 scale in bits 0 to 31 must be finite and positive";
      if (wrong == nullptr) continue;
      error(node, fmt::format("deq_scale[{}] is {:#018x}: {}", i, word, wrong));
      return;
    }
  }

  void check_anti_quant(const Node& node) {
    check_scale(node);
    check_integer(node, "dtype", 1);
    check_integer(node, "sqrt_mode", 1);
    const float* offset = attribute<float>(node, "offset", "FLOAT", true);
    if (offset != nullptr && (!std::isfinite(*offset) || *offset != std::floor(*offset)))
      error(node, fmt::format("offset is {}; expected an integer", *offset));
    const Node* quant = producer_if(node.input(0), "AscendQuant");
    if (quant == nullptr) {
      error(node, "its data do not come from an AscendQuant");
      return;
    }
    const float product =
        node.attribute_float("scale", 1.0F) * quant->attribute_float("scale", 1.0F);
    if (!(std::abs(product - 1.0F) <= kReciprocalTolerance) ||
        node.attribute_float("offset", 0.0F) != quant->attribute_float("offset", 0.0F))
      warn(node,
           fmt::format("it does not undo AscendQuant '{}': its scale should be the reciprocal "
                       "of that node's, its offset the same",
                       quant->label()));
  }
};

void check_model(const ir::Model& model, std::vector<Finding>& findings) {
  const auto add = [&](Severity severity, std::string message) {
    findings.push_back({severity, {}, std::move(message)});
  };
  if (model.opset() < kOldestDeployOpset || model.opset() > kNewestDeployOpset)
    add(Severity::kError, fmt::format("the operator set is {}; the compiler knows AscendQuant and "
                                      "AscendDequant in {} to {}",
                                      model.opset(), kOldestDeployOpset, kNewestDeployOpset));
  bool quantized = false;
  model.graph->for_each_graph([&](ir::Graph& graph) {
    for (const auto& node : graph.nodes()) quantized |= is_op(*node, "AscendQuant");
  });
  if (!quantized) add(Severity::kError, "this is not a deploy model: it has no AscendQuant node");
  for (const Value* input : model.graph->inputs()) {
    if (input->constant() != nullptr) continue;
    const auto& shape = input->type.shape;
    const bool fixed = shape && std::ranges::all_of(*shape, [](const ir::Dim& dim) {
                         return dim.value.has_value();
                       });
    if (!fixed)
      add(Severity::kWarning,
          fmt::format(
              "input '{}' has no fixed shape; the compiler takes quantized models with fixed "
              "shapes only (give them with --input_shape)",
              input->name()));
  }
}

void check_operators(ir::Graph& graph, std::vector<Finding>& findings) {
  for (const auto& node : graph.nodes()) {
    if (is_quantized_operator(*node))
      findings.push_back(
          {Severity::kError, node->label(),
           fmt::format("the compiler does not read {}; quantize the float model that "
                       "this one was made from",
                       node->op_type)});
    else if (!is_op(*node, node->op_type) && !is_ascend_name(*node))
      findings.push_back({Severity::kWarning, node->label(),
                          fmt::format("{} is in domain '{}', which the compiler may not know",
                                      node->op_type, node->domain)});
  }
}

}  // namespace

std::vector<Finding> check_deploy_nodes(const ir::Model& model) {
  Checker checker;
  model.graph->for_each_graph([&](ir::Graph& graph) { checker.check_nodes(graph); });
  return std::move(checker.findings);
}

std::vector<Finding> check_deploy(const ir::Model& model) {
  std::vector<Finding> findings;
  check_model(model, findings);
  model.graph->for_each_graph([&](ir::Graph& graph) { check_operators(graph, findings); });
  std::ranges::copy(check_deploy_nodes(model), std::back_inserter(findings));
  return findings;
}

}  // namespace amct::passes
