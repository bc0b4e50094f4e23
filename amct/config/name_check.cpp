#include "amct/config/name_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "amct/base/log.h"

namespace amct::config {
namespace {

constexpr std::array<std::string_view, 7> kQuantizableTypes{
    "Conv", "Conv2d", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU"};

// More would only cost time: the search for similar names is quadratic in their length.
constexpr std::size_t kMaxSuggestions = 20;
constexpr std::size_t kMaxNameLength = 256;

bool contains(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Number of characters to insert, drop or change.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

// The up to three nearest names that differ in at most a third of the characters.
std::vector<std::string_view> similar(std::string_view name,
                                      const std::vector<std::string_view>& candidates) {
  std::vector<std::pair<std::size_t, std::string_view>> found;
  const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
  for (const std::string_view candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer > kMaxNameLength || longer - std::min(name.size(), candidate.size()) > limit) {
      continue;
    }
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= limit && distance < name.size()) found.emplace_back(distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 3); ++i) {
    names.push_back(found[i].second);
  }
  return names;
}

}  // namespace

NameCheck::NameCheck(const ModelInfo& model, Violations* violations) : violations_(*violations) {
  std::set<std::string_view> types(kQuantizableTypes.begin(), kQuantizableTypes.end());
  std::set<std::string_view> quantized;
  for (const LayerInfo& layer : model.layers) {
    layers_.emplace(layer.name, &layer);
    types.insert(layer.op_type);
    quantized.insert(layer.op_type);
    if (is_conv_2d(layer)) quantized.insert("Conv2d");
  }
  for (const NodeInfo& node : model.nodes) {
    types.insert(node.op_type);
    if (node.name.empty()) continue;
    if (nodes_.emplace(node.name, &node).second) node_names_.push_back(node.name);
  }
  types_.assign(types.begin(), types.end());
  quantized_types_.assign(quantized.begin(), quantized.end());
}

const LayerInfo* NameCheck::layer(const std::string& where, const std::string& name) {
  if (const auto found = layers_.find(name); found != layers_.end()) return found->second;
  if (const NodeInfo* other = node(where, name)) {
    log_warning("{}: \"{}\" ({}) is not a layer that can be quantized; the entry has no effect",
                where, name, other->op_type);
  }
  return nullptr;
}

const NodeInfo* NameCheck::node(const std::string& where, const std::string& name) {
  if (const auto found = nodes_.find(name); found != nodes_.end()) return found->second;
  unknown(where, "node", name, node_names_);
  return nullptr;
}

void NameCheck::type(const std::string& where, const std::string& name) {
  if (!contains(types_, name)) {
    unknown(where, "operator type", name, types_);
  } else if (!contains(quantized_types_, name)) {
    log_warning("{}: the model has no layer of type \"{}\" that can be quantized; no effect", where,
                name);
  }
}

void NameCheck::tensors(const std::vector<TensorQuantize>& tensors) {
  std::set<std::pair<std::string_view, std::uint32_t>> seen;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorQuantize& tensor = tensors[i];
    const std::string where = fmt::format("tensor_quantize[{}]", i);
    if (!seen.emplace(tensor.layer_name, tensor.input_index).second) {
      violations_.add(where, "input {} of \"{}\" is listed more than once", tensor.input_index,
                      tensor.layer_name);
    }
    const NodeInfo* info = node(where + ".layer_name", tensor.layer_name);
    if (info == nullptr) continue;
    if (info->op_type != "MaxPool" && info->op_type != "Add") {
      violations_.add(where + ".layer_name", "\"{}\" is of type {}, expected MaxPool or Add",
                      tensor.layer_name, info->op_type);
    } else if (tensor.input_index >= static_cast<std::uint32_t>(info->num_inputs)) {
      violations_.add(where + ".input_index", "found {}, but \"{}\" has {} input{}",
                      tensor.input_index, tensor.layer_name, info->num_inputs,
                      info->num_inputs == 1 ? "" : "s");
    }
  }
}

void NameCheck::unknown(const std::string& where, std::string_view kind, const std::string& name,
                        const std::vector<std::string_view>& candidates) {
  std::vector<std::string_view> names;
  if (num_suggestions_++ < kMaxSuggestions) names = similar(name, candidates);
  violations_.add(where, "the model has no {} \"{}\"{}{}", kind, name,
                  names.empty() ? "" : "; similar: ", fmt::join(names, ", "));
}

bool allows_asymmetric(const LayerInfo& layer) { return layer.weight_rank > 0; }

bool allows_int16(const LayerInfo& layer) { return layer.op_type != "MatMul"; }

bool is_conv_2d(const LayerInfo& layer) {
  return layer.op_type == "Conv" && layer.weight_rank == 4;
}

bool type_matches(std::string_view type, const LayerInfo& layer) {
  return type == layer.op_type || (type == "Conv2d" && is_conv_2d(layer));
}

}  // namespace amct::config
