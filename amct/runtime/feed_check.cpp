#include "amct/runtime/feed_check.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "amct/base/error.h"

namespace amct::runtime {
namespace {

std::string names_of(const std::vector<PortInfo>& inputs) {
  std::string names;
  for (const PortInfo& port : inputs)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", port.name);
  return names.empty() ? "none" : names;
}

void check_shape(const PortInfo& port, const Shape& shape) {
  const ir::ValueType& type = port.type;
  const auto refuse = [&] {
    raise(ErrorCode::kInvalidData, "input '{}' wants {}, but was given {}", port.name,
          describe(type), describe(shape));
  };
  if (type.data_type != ir::DataType::kUndefined && shape.type != type.data_type) refuse();
  if (!type.shape) return;
  if (shape.dims->size() != type.shape->size()) refuse();
  for (std::size_t axis = 0; axis < shape.dims->size(); ++axis) {
    const ir::Dim& wanted = (*type.shape)[axis];
    const std::int64_t given = (*shape.dims)[axis];
    if (wanted.value && *wanted.value != given) refuse();
  }
}

}  // namespace

std::string describe(const ir::ValueType& type) {
  std::string text = to_string(type.data_type) + "[";
  if (!type.shape) return text + "...]";
  for (std::size_t axis = 0; axis < type.shape->size(); ++axis) {
    const ir::Dim& dim = (*type.shape)[axis];
    if (axis > 0) text += ',';
    if (dim.value)
      text += std::to_string(*dim.value);
    else
      text += dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text + "]";
}

std::string describe(const Shape& shape) {
  return fmt::format("{}[{}]", to_string(shape.type), fmt::join(*shape.dims, ","));
}

void check_shapes(const std::vector<PortInfo>& inputs, const std::vector<Shape>& shapes) {
  for (std::size_t i = 0; i < inputs.size(); ++i) check_shape(inputs[i], shapes[i]);
}

std::vector<const ir::Tensor*> match_feed(const std::vector<PortInfo>& inputs, const Feed& feed) {
  std::vector<const ir::Tensor*> tensors(inputs.size(), nullptr);
  for (const auto& [name, tensor] : feed) {
    const auto port = std::ranges::find(inputs, name, &PortInfo::name);
    if (port == inputs.end())
      raise(ErrorCode::kInvalidData, "the model has no input '{}'; its inputs are {}", name,
            names_of(inputs));
    const ir::Tensor*& slot = tensors[static_cast<std::size_t>(port - inputs.begin())];
    if (slot != nullptr) raise(ErrorCode::kInvalidData, "input '{}' is given twice", name);
    slot = &tensor;
  }
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (tensors[i] == nullptr)
      raise(ErrorCode::kInvalidData, "input '{}' ({}) is not given", inputs[i].name,
            describe(inputs[i].type));
    shapes.push_back({tensors[i]->type(), &tensors[i]->dims()});
  }
  check_shapes(inputs, shapes);
  return tensors;
}

}  // namespace amct::runtime
