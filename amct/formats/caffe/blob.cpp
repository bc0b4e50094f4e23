#include "amct/formats/caffe/blob.h"

#include <fmt/ranges.h>

#include <cstring>

#include "amct/base/error.h"
#include "amct/ir/tensor.h"

namespace amct::caffe {
namespace {

/// Values of raw_data_type.
constexpr std::int32_t kRawDouble = 0, kRawFloat = 1, kRawHalf = 2;

std::vector<std::int64_t> dims_of(const schema::Blob& blob) {
  if (blob.has_shape()) return {blob.shape().dim().begin(), blob.shape().dim().end()};
  if (blob.has_num() || blob.has_channels() || blob.has_height() || blob.has_width())
    return {blob.num(), blob.channels(), blob.height(), blob.width()};
  return {};
}

BlobType raw_type(const schema::Blob& blob) {
  switch (blob.raw_data_type()) {
    case kRawDouble:
      return BlobType::kDouble;
    case kRawFloat:
      return BlobType::kFloat;
    case kRawHalf:
      return BlobType::kHalf;
    default:
      raise(ErrorCode::kUnsupported,
            "its data have the type {}; expected 0 (double), 1 (float) or 2 (float16)",
            blob.raw_data_type());
  }
}

std::size_t element_size(BlobType type) {
  switch (type) {
    case BlobType::kHalf:
      return sizeof(std::uint16_t);
    case BlobType::kFloat:
      return sizeof(float);
    default:
      return sizeof(double);
  }
}

template <typename Stored, typename T, typename Convert>
Values from_raw(const std::string& raw, const Convert& convert) {
  std::vector<T> values(raw.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, raw.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

template <typename Stored, typename T, typename Convert>
std::string to_raw(const std::vector<T>& values, const Convert& convert) {
  std::string raw(values.size() * sizeof(Stored), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(raw.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return raw;
}

constexpr auto kSame = [](auto value) { return value; };

std::string raw_of(BlobType type, const Values& values) {
  if (type == BlobType::kHalf)
    return to_raw<std::uint16_t>(std::get<std::vector<float>>(values), ir::float_to_half);
  return std::visit(
      [](const auto& numbers) {
        return to_raw<typename std::decay_t<decltype(numbers)>::value_type>(numbers, kSame);
      },
      values);
}

void set_dims(schema::Blob& blob, bool old, std::span<const std::int64_t> dims) {
  if (old) {
    blob.set_num(static_cast<std::int32_t>(dims[0]));
    blob.set_channels(static_cast<std::int32_t>(dims[1]));
    blob.set_height(static_cast<std::int32_t>(dims[2]));
    blob.set_width(static_cast<std::int32_t>(dims[3]));
  } else {
    for (const std::int64_t dim : dims) blob.mutable_shape()->add_dim(dim);
  }
}

}  // namespace

BlobInfo describe(const schema::Blob& blob) {
  BlobInfo info;
  info.dims = dims_of(blob);
  std::size_t count = 0;
  if (blob.has_raw_data()) {
    info.type = raw_type(blob);
    if (blob.raw_data().size() % element_size(info.type) != 0)
      raise(ErrorCode::kInvalidModel, "it has {} bytes, no multiple of {}", blob.raw_data().size(),
            element_size(info.type));
    count = blob.raw_data().size() / element_size(info.type);
  } else if (blob.double_data_size() > 0) {
    info.type = BlobType::kDouble;
    count = static_cast<std::size_t>(blob.double_data_size());
  } else {
    count = static_cast<std::size_t>(blob.data_size());
  }
  const std::int64_t wanted = ir::element_count(info.dims);
  if (count != static_cast<std::size_t>(wanted))
    raise(ErrorCode::kInvalidModel, "it has {} numbers, but its shape [{}] needs {}", count,
          fmt::join(info.dims, ", "), wanted);
  return info;
}

Values read_values(const schema::Blob& blob) {
  if (!blob.has_raw_data()) {
    if (blob.double_data_size() > 0)
      return std::vector<double>(blob.double_data().begin(), blob.double_data().end());
    return std::vector<float>(blob.data().begin(), blob.data().end());
  }
  switch (raw_type(blob)) {
    case BlobType::kHalf:
      return from_raw<std::uint16_t, float>(blob.raw_data(), ir::half_to_float);
    case BlobType::kFloat:
      return from_raw<float, float>(blob.raw_data(), kSame);
    default:
      return from_raw<double, double>(blob.raw_data(), kSame);
  }
}

schema::Blob make_blob(const schema::Blob& like, std::span<const std::int64_t> dims,
                       const Values& values) {
  schema::Blob blob;
  *blob.mutable_unknown_fields() = like.unknown_fields();
  set_dims(blob, !like.has_shape(), dims);
  if (like.has_raw_data()) {
    blob.set_raw_data_type(like.raw_data_type());
    blob.set_raw_data(raw_of(raw_type(like), values));
  } else if (const auto* doubles = std::get_if<std::vector<double>>(&values)) {
    blob.mutable_double_data()->Add(doubles->begin(), doubles->end());
  } else {
    const auto& floats = std::get<std::vector<float>>(values);
    blob.mutable_data()->Add(floats.begin(), floats.end());
  }
  return blob;
}

}  // namespace amct::caffe
