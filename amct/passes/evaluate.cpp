#include "amct/passes/evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>

#include "amct/passes/pattern.h"

namespace amct::passes {
namespace {

using ir::DataType;
using ir::Tensor;
using Dims = std::vector<std::int64_t>;
using Result = std::optional<Tensor>;

std::uint64_t bytes_of(std::int64_t elements, DataType type) {
  return static_cast<std::uint64_t>(elements) * static_cast<std::uint64_t>(ir::bit_width(type)) / 8;
}

template <typename T>
Tensor list_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

Result constant(const ir::Node& node) {
  if (node.attributes.size() != 1) return std::nullopt;
  const ir::Attribute& attribute = node.attributes.front();
  if (const auto* tensor = std::get_if<Tensor>(&attribute.data)) return *tensor;
  if (const auto* number = std::get_if<float>(&attribute.data)) return Tensor::scalar(*number);
  if (const auto* number = std::get_if<std::int64_t>(&attribute.data))
    return Tensor::scalar(*number);
  if (const auto* list = std::get_if<std::vector<float>>(&attribute.data)) return list_of(*list);
  if (const auto* list = std::get_if<Dims>(&attribute.data)) return list_of(*list);
  return std::nullopt;
}

template <typename To, typename From>
std::optional<To> convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // What a float out of range becomes is not defined; 2^bits is exact in both types.
    const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    const From low = std::is_signed_v<To> ? -limit : From{0};
    if (!(value >= low && value < limit)) return std::nullopt;
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
Result cast_values(const Tensor& from) {
  Tensor result = Tensor::zeros(ir::data_type_of<To>(), from.dims());
  const auto target = result.mutable_values<To>();
  const auto source = from.values<From>();
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto value = convert<To>(source[i]);
    if (!value) return std::nullopt;
    target[i] = *value;
  }
  return result;
}

template <typename To>
Result cast_to(const Tensor& from) {
  switch (from.type()) {
    case DataType::kFloat:
      return cast_values<To, float>(from);
    case DataType::kDouble:
      return cast_values<To, double>(from);
    case DataType::kInt8:
      return cast_values<To, std::int8_t>(from);
    case DataType::kUInt8:
      return cast_values<To, std::uint8_t>(from);
    case DataType::kInt16:
      return cast_values<To, std::int16_t>(from);
    case DataType::kUInt16:
      return cast_values<To, std::uint16_t>(from);
    case DataType::kInt32:
      return cast_values<To, std::int32_t>(from);
    case DataType::kUInt32:
      return cast_values<To, std::uint32_t>(from);
    case DataType::kInt64:
      return cast_values<To, std::int64_t>(from);
    case DataType::kUInt64:
      return cast_values<To, std::uint64_t>(from);
    case DataType::kFloat16:
    case DataType::kBFloat16: {
      const std::vector<float> wide = ir::to_float(from);
      return cast_values<To, float>(Tensor::of<float>(from.dims(), wide));
    }
    default:
      return std::nullopt;
  }
}

Result cast(const ir::Node& node, const Tensor& from, std::uint64_t max_bytes) {
  const auto to = static_cast<DataType>(node.attribute_int("to", 0));
  if (to == from.type()) return from;
  if (bytes_of(from.size(), to) > max_bytes) return std::nullopt;
  switch (to) {
    case DataType::kFloat:
      return cast_to<float>(from);
    case DataType::kDouble:
      return cast_to<double>(from);
    case DataType::kInt32:
      return cast_to<std::int32_t>(from);
    case DataType::kInt64:
      return cast_to<std::int64_t>(from);
    case DataType::kBool:
      return cast_to<bool>(from);
    default:
      return std::nullopt;
  }
}

/// Copies elements of T's size from a strided source into row-major order.
template <typename T>
void gather(const std::byte* source, const std::vector<std::size_t>& strides, const Dims& dims,
            std::span<T> target) {
  const std::size_t rank = dims.size();
  const auto inner = rank > 0 ? static_cast<std::size_t>(dims[rank - 1]) : 1;
  const std::size_t step = rank > 0 ? strides[rank - 1] : 0;
  Dims index(rank, 0);
  std::size_t offset = 0;
  for (std::size_t done = 0; done < target.size(); done += inner) {
    for (std::size_t i = 0; i < inner; ++i)
      std::memcpy(&target[done + i], source + (offset + i * step) * sizeof(T), sizeof(T));
    for (std::size_t i = rank > 0 ? rank - 1 : 0; i-- > 0;) {
      offset += strides[i];
      if (++index[i] < dims[i]) break;
      offset -= strides[i] * static_cast<std::size_t>(dims[i]);
      index[i] = 0;
    }
  }
}

bool is_permutation(Dims order, std::size_t rank) {
  std::ranges::sort(order);
  Dims expected(rank);
  std::iota(expected.begin(), expected.end(), std::int64_t{0});
  return order == expected;
}

Result transpose(const ir::Node& node, const Tensor& from, std::uint64_t max_bytes) {
  const std::size_t rank = from.rank();
  Dims order(rank);
  std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  order = node.attribute_ints("perm", order);
  if (!is_permutation(order, rank) || from.bytes().size() > max_bytes) return std::nullopt;
  std::vector<std::size_t> source_strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;)
    source_strides[i - 1] = source_strides[i] * static_cast<std::size_t>(from.dims()[i]);
  Dims dims;
  std::vector<std::size_t> strides;
  for (const std::int64_t axis : order) {
    dims.push_back(from.dims()[static_cast<std::size_t>(axis)]);
    strides.push_back(source_strides[static_cast<std::size_t>(axis)]);
  }
  Tensor result = Tensor::zeros(from.type(), dims);
  const std::byte* source = from.bytes().data();
  switch (ir::bit_width(from.type())) {
    case 8:
      gather(source, strides, dims, result.mutable_values<std::uint8_t>());
      break;
    case 16:
      gather(source, strides, dims, result.mutable_values<std::uint16_t>());
      break;
    case 32:
      gather(source, strides, dims, result.mutable_values<std::uint32_t>());
      break;
    case 64:
      gather(source, strides, dims, result.mutable_values<std::uint64_t>());
      break;
    default:
      return std::nullopt;
  }
  return result;
}

Result reshaped(const Tensor& from, Dims dims) {
  const bool valid = std::ranges::all_of(dims, [](std::int64_t dim) { return dim >= 0; });
  if (!valid || from.type() == DataType::kString || ir::element_count(dims) != from.size())
    return std::nullopt;
  return from.reshaped(std::move(dims));
}

Result reshape(const ir::Node& node, const Tensor& from, const Tensor* shape) {
  if (shape == nullptr || shape->type() != DataType::kInt64) return std::nullopt;
  Dims dims = ir::to_int64(*shape);
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && node.attribute_int("allowzero", 0) == 0) {
      if (i >= from.rank()) return std::nullopt;
      dims[i] = from.dims()[i];
    }
    if (dims[i] < -1 || (dims[i] == -1 && open)) return std::nullopt;
    if (dims[i] == -1)
      open = i;
    else if (dims[i] != 0 && known > from.size() / dims[i])
      return std::nullopt;
    else
      known *= dims[i];
  }
  if (open) {
    if (known == 0 || from.size() % known != 0) return std::nullopt;
    dims[*open] = from.size() / known;
  }
  return reshaped(from, std::move(dims));
}

/// Axes as flags over `rank` dimensions, from the second input or the attribute.
std::optional<std::vector<bool>> axis_flags(const ir::Node& node, const Tensor* input,
                                            std::size_t rank) {
  Dims axes = node.attribute_ints("axes", {});
  if (input != nullptr) {
    if (input->type() != DataType::kInt64) return std::nullopt;
    axes = ir::to_int64(*input);
  }
  std::vector<bool> flags(rank, false);
  for (std::int64_t axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
    if (flags[static_cast<std::size_t>(axis)]) return std::nullopt;
    flags[static_cast<std::size_t>(axis)] = true;
  }
  return flags;
}

Result squeeze(const ir::Node& node, const Tensor& from, const Tensor* axes) {
  auto flags = axis_flags(node, axes, from.rank());
  if (!flags) return std::nullopt;
  const bool all = std::ranges::find(*flags, true) == flags->end();
  Dims dims;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const bool drop = all ? from.dims()[i] == 1 : (*flags)[i];
    if (drop && from.dims()[i] != 1) return std::nullopt;
    if (!drop) dims.push_back(from.dims()[i]);
  }
  return reshaped(from, std::move(dims));
}

Result unsqueeze(const ir::Node& node, const Tensor& from, const Tensor* axes) {
  const std::size_t added = axes != nullptr ? static_cast<std::size_t>(axes->size())
                                            : node.attribute_ints("axes", {}).size();
  constexpr std::size_t kMaxRank = 64;
  if (added == 0 || from.rank() + added > kMaxRank) return std::nullopt;
  const auto flags = axis_flags(node, axes, from.rank() + added);
  if (!flags) return std::nullopt;
  Dims dims;
  std::size_t next = 0;
  for (const bool insert : *flags) dims.push_back(insert ? 1 : from.dims()[next++]);
  return reshaped(from, std::move(dims));
}

Result flatten(const ir::Node& node, const Tensor& from) {
  const auto rank = static_cast<std::int64_t>(from.rank());
  std::int64_t axis = node.attribute_int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return std::nullopt;
  const auto middle = from.dims().begin() + axis;
  const Dims head(from.dims().begin(), middle);
  const Dims tail(middle, from.dims().end());
  return reshaped(from, {ir::element_count(head), ir::element_count(tail)});
}

/// Shape that two operands broadcast to; empty when they do not fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    dims[dims.size() - 1 - i] = left == 1 ? right : left;
  }
  return dims;
}

/// Distance between neighbours along each dimension of `dims`; 0 where `from` is repeated.
std::vector<std::size_t> broadcast_strides(const Dims& from, const Dims& dims) {
  std::vector<std::size_t> strides(dims.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t dim = from[from.size() - 1 - i];
    if (dim != 1) strides[dims.size() - 1 - i] = stride;
    stride *= static_cast<std::size_t>(dim);
  }
  return strides;
}

template <typename T>
Tensor combine(const Tensor& a, const Tensor& b, const Dims& dims, bool divide) {
  Tensor result = Tensor::zeros(a.type(), dims);
  const auto target = result.mutable_values<T>();
  const auto left = a.values<T>();
  const auto right = b.values<T>();
  const auto left_strides = broadcast_strides(a.dims(), dims);
  const auto right_strides = broadcast_strides(b.dims(), dims);
  Dims index(dims.size(), 0);
  std::size_t i = 0;
  std::size_t j = 0;
  for (T& value : target) {
    value = divide ? left[i] / right[j] : left[i] * right[j];
    for (std::size_t d = dims.size(); d-- > 0;) {
      i += left_strides[d];
      j += right_strides[d];
      if (++index[d] < dims[d]) break;
      i -= left_strides[d] * static_cast<std::size_t>(dims[d]);
      j -= right_strides[d] * static_cast<std::size_t>(dims[d]);
      index[d] = 0;
    }
  }
  return result;
}

Result arithmetic(const Tensor& a, const Tensor* b, bool divide, std::uint64_t max_bytes) {
  if (b == nullptr || a.type() != b->type()) return std::nullopt;
  if (a.type() != DataType::kFloat && a.type() != DataType::kDouble) return std::nullopt;
  const auto dims = broadcast(a.dims(), b->dims());
  if (!dims) return std::nullopt;
  const std::int64_t size = ir::element_count(*dims);
  if (size > std::max(a.size(), b->size()) || bytes_of(size, a.type()) > max_bytes)
    return std::nullopt;
  return a.type() == DataType::kFloat ? combine<float>(a, *b, *dims, divide)
                                      : combine<double>(a, *b, *dims, divide);
}

}  // namespace

std::optional<Tensor> evaluate(const ir::Node& node, const std::vector<const Tensor*>& inputs,
                               std::int64_t opset, std::uint64_t max_bytes) {
  // Older operator sets broadcast and reshape by attributes.
  constexpr std::int64_t kOldestOpset = 7;
  if (opset < kOldestOpset) return std::nullopt;
  if (is_op(node, "Constant")) return constant(node);
  if (inputs.empty() || inputs.front() == nullptr) return std::nullopt;
  const Tensor& first = *inputs.front();
  const Tensor* second = inputs.size() > 1 ? inputs[1] : nullptr;
  if (is_op(node, "Identity")) return first;
  if (is_op(node, "Cast")) return cast(node, first, max_bytes);
  if (is_op(node, "Transpose")) return transpose(node, first, max_bytes);
  if (is_op(node, "Reshape")) return reshape(node, first, second);
  if (is_op(node, "Squeeze")) return squeeze(node, first, second);
  if (is_op(node, "Unsqueeze")) return unsqueeze(node, first, second);
  if (is_op(node, "Flatten")) return flatten(node, first);
  if (is_op(node, "Mul")) return arithmetic(first, second, false, max_bytes);
  if (is_op(node, "Div")) return arithmetic(first, second, true, max_bytes);
  return std::nullopt;
}

}  // namespace amct::passes
