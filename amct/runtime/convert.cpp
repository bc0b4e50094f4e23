#include <limits>

#include "amct/base/error.h"
#include "amct/runtime/data_files.h"

namespace amct::runtime {
namespace {

using ir::DataType;

bool is_integer(DataType type) {
  return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kInt32 ||
         type == DataType::kInt64 || type == DataType::kUInt8 || type == DataType::kUInt16 ||
         type == DataType::kUInt32;
}

template <typename T>
ir::Tensor narrow(const ir::Tensor& tensor, const std::string& name) {
  const std::vector<std::int64_t> wide = ir::to_int64(tensor);
  ir::Tensor result = ir::Tensor::zeros(ir::data_type_of<T>(), tensor.dims());
  const std::span<T> out = result.mutable_values<T>();
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!std::in_range<T>(wide[i]))
      raise(ErrorCode::kInvalidData, "{} holds {}, which does not fit {}", name, wide[i],
            to_string(result.type()));
    out[i] = static_cast<T>(wide[i]);
  }
  return result;
}

}  // namespace

bool convertible(DataType from, DataType to) {
  if (to == DataType::kFloat) return from == DataType::kDouble || from == DataType::kFloat16;
  if (to == DataType::kDouble) return from == DataType::kFloat || from == DataType::kFloat16;
  return is_integer(from) && is_integer(to);
}

ir::Tensor convert(const ir::Tensor& tensor, DataType to, const std::string& name) {
  switch (to) {
    case DataType::kFloat: {
      const std::vector<float> values = ir::to_float(tensor);
      return ir::Tensor::of<float>(tensor.dims(), values);
    }
    case DataType::kDouble: {
      const std::vector<float> values = ir::to_float(tensor);
      const std::vector<double> wide(values.begin(), values.end());
      return ir::Tensor::of<double>(tensor.dims(), wide);
    }
    case DataType::kInt8:
      return narrow<std::int8_t>(tensor, name);
    case DataType::kUInt8:
      return narrow<std::uint8_t>(tensor, name);
    case DataType::kInt16:
      return narrow<std::int16_t>(tensor, name);
    case DataType::kUInt16:
      return narrow<std::uint16_t>(tensor, name);
    case DataType::kInt32:
      return narrow<std::int32_t>(tensor, name);
    case DataType::kUInt32:
      return narrow<std::uint32_t>(tensor, name);
    case DataType::kInt64:
      return narrow<std::int64_t>(tensor, name);
    default:
      raise(ErrorCode::kInvalidData, "{} holds {}; {} is wanted", name, to_string(tensor.type()),
            to_string(to));
  }
}

}  // namespace amct::runtime
