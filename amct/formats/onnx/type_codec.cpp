#include "amct/formats/onnx/type_codec.h"

#include "amct/base/error.h"

namespace amct::onnx {
namespace {

/// Takes the dims; returns whether the message still says something of them.
bool take_shape(schema::Shape& message, std::vector<ir::Dim>& dims) {
  bool left = !message.unknown_fields().empty();
  for (schema::Dimension& dim : *message.mutable_dim()) {
    ir::Dim& taken = dims.emplace_back();
    // Negative sizes and empty symbols mean "unknown"; they stay behind as they were written.
    if (dim.has_value() && dim.value() >= 0) {
      taken.value = dim.value();
      dim.clear_value();
    } else if (!dim.symbol().empty()) {
      taken.symbol = dim.symbol();
      dim.clear_symbol();
    }
    left = left || dim.ByteSizeLong() > 0;
  }
  return left;
}

}  // namespace

void parse_remainder(const std::string& bytes, google::protobuf::MessageLite& message) {
  if (!message.ParsePartialFromString(bytes))
    raise(ErrorCode::kInternal, "the kept bytes of a {} cannot be read back",
          message.GetTypeName());
}

ir::ValueType take_type(schema::Type& message) {
  ir::ValueType type;
  if (message.has_tensor_type()) {
    schema::TensorType& tensor = *message.mutable_tensor_type();
    if (tensor.elem_type() != 0) {
      type.data_type = static_cast<ir::DataType>(tensor.elem_type());
      tensor.clear_elem_type();
    }
    if (tensor.has_shape() && !take_shape(*tensor.mutable_shape(), type.shape.emplace()))
      tensor.clear_shape();
    const bool said = type.data_type != ir::DataType::kUndefined || type.shape.has_value();
    if (said && tensor.ByteSizeLong() == 0) message.clear_tensor_type();
  }
  type.opaque = remainder_of(message);
  return type;
}

bool has_type(const ir::ValueType& type) {
  return type.data_type != ir::DataType::kUndefined || type.shape.has_value() ||
         !type.opaque.empty();
}

void put_type(const ir::ValueType& type, schema::Type& message) {
  if (!type.opaque.empty()) parse_remainder(type.opaque, message);
  if (type.data_type == ir::DataType::kUndefined && !type.shape) {
    return;
  }
  schema::TensorType& tensor = *message.mutable_tensor_type();
  if (type.data_type != ir::DataType::kUndefined)
    tensor.set_elem_type(static_cast<std::int32_t>(type.data_type));
  if (!type.shape) {
    tensor.clear_shape();
    return;
  }
  schema::Shape& shape = *tensor.mutable_shape();
  // The rank may have changed since; what is kept of the old dims is then meaningless.
  if (static_cast<std::size_t>(shape.dim_size()) != type.shape->size()) shape.clear_dim();
  while (static_cast<std::size_t>(shape.dim_size()) < type.shape->size()) shape.add_dim();
  for (int i = 0; i < shape.dim_size(); ++i) {
    const ir::Dim& dim = (*type.shape)[static_cast<std::size_t>(i)];
    if (dim.value)
      shape.mutable_dim(i)->set_value(*dim.value);
    else if (!dim.symbol.empty())
      shape.mutable_dim(i)->set_symbol(dim.symbol);
  }
}

}  // namespace amct::onnx
