#pragma once

#include <string>

#include "amct/formats/onnx/schema.h"
#include "amct/ir/graph.h"

namespace amct::onnx {

/// Serialized remainder of a message, "" when nothing is left in it.
template <typename Message>
std::string remainder_of(const Message& message) {
  return message.SerializePartialAsString();
}

/// Reads bytes that remainder_of wrote. Throws Error(kInternal) when they are none.
void parse_remainder(const std::string& bytes, google::protobuf::MessageLite& message);

/// Takes element type and shape out of `message`; the rest (kinds that are not tensors,
/// denotations, negative dims) goes to ValueType::opaque.
ir::ValueType take_type(schema::Type& message);

/// Whether anything is known of the type.
bool has_type(const ir::ValueType& type);

/// Inverse of take_type, over an empty message.
void put_type(const ir::ValueType& type, schema::Type& message);

}  // namespace amct::onnx
