#include "amct/formats/onnx/tensor_codec.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "amct/base/error.h"

namespace amct::onnx {

static_assert(std::endian::native == std::endian::little, "raw data are little-endian");

namespace {

constexpr std::int32_t kExternal = 1;
using ir::DataType;
using Owner = std::shared_ptr<const void>;

std::vector<std::int64_t> dims_of(const schema::Tensor& message) {
  return {message.dims().begin(), message.dims().end()};
}

/// Bytes of a tensor of that type and dims. Throws on absurd dims.
std::uint64_t byte_count(DataType type, std::span<const std::int64_t> dims) {
  const auto bits = static_cast<std::uint64_t>(ir::bit_width(type));
  return (static_cast<std::uint64_t>(ir::element_count(dims)) * bits + 7) / 8;
}

/// Packs the entries of a typed field as elements of type `To`.
template <typename To, typename Field>
std::string pack(const Field& field) {
  std::string bytes(static_cast<std::size_t>(field.size()) * sizeof(To), '\0');
  char* place = bytes.data();
  for (const auto entry : field) {
    const To element = static_cast<To>(entry);
    std::memcpy(place, &element, sizeof(To));
    place += sizeof(To);
  }
  return bytes;
}

/// The data of the typed field that belongs to the element type; sub-byte types hold one byte of
/// packed elements in each entry.
std::string pack_typed(DataType type, const schema::Tensor& message) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return pack<float>(message.float_data());
    case DataType::kDouble:
    case DataType::kComplex128:
      return pack<double>(message.double_data());
    case DataType::kInt64:
      return pack<std::int64_t>(message.int64_data());
    case DataType::kUInt64:
      return pack<std::uint64_t>(message.uint64_data());
    case DataType::kUInt32:
      return pack<std::uint32_t>(message.uint64_data());
    case DataType::kInt32:
      return pack<std::int32_t>(message.int32_data());
    default:
      return ir::bit_width(type) == 16 ? pack<std::uint16_t>(message.int32_data())
                                       : pack<std::uint8_t>(message.int32_data());
  }
}

void clear_data(schema::Tensor& message) {
  message.clear_raw_data();
  message.clear_float_data();
  message.clear_int32_data();
  message.clear_string_data();
  message.clear_int64_data();
  message.clear_double_data();
  message.clear_uint64_data();
  message.clear_external_data();
  message.clear_data_location();
}

[[noreturn]] void raise_size(const std::string& what, DataType type, const schema::Tensor& message,
                             std::uint64_t found, std::uint64_t expected) {
  std::string dims;
  for (const std::int64_t dim : message.dims()) {
    if (!dims.empty()) dims += 'x';
    dims += std::to_string(dim);
  }
  raise(ErrorCode::kInvalidModel,
        "{} has {} bytes of data, but its type {} and shape [{}] need {}; the file is damaged or "
        "was written wrongly",
        what, found, ir::to_string(type), dims, expected);
}

ir::Tensor take_strings(schema::Tensor& message, const std::string& what) {
  auto dims = dims_of(message);
  const std::int64_t expected = ir::element_count(dims);
  if (expected != message.string_data_size())
    raise(ErrorCode::kInvalidModel, "{} has {} strings, but its shape needs {}", what,
          message.string_data_size(), expected);
  std::vector<std::string> strings;
  strings.reserve(static_cast<std::size_t>(expected));
  for (std::string& text : *message.mutable_string_data()) strings.push_back(std::move(text));
  return ir::Tensor::of_strings(std::move(dims), std::move(strings));
}

/// Data in the machine's alignment: a view where possible, else a copy.
std::span<const std::byte> aligned(DataType type, std::span<const std::byte> bytes, Owner& owner) {
  const auto element = static_cast<std::size_t>(ir::bit_width(type) / 8);
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  if (element <= 1 || address % std::min<std::size_t>(element, 8) == 0) return bytes;
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  const std::span<const std::byte> view = *copy;
  owner = std::move(copy);
  return view;
}

std::span<const std::byte> take_bytes(DataType type, schema::Tensor& message, ExternalFiles& files,
                                      Owner& owner) {
  if (message.data_location() == kExternal)
    return aligned(type, files.bytes_of(message, owner), owner);
  std::shared_ptr<const std::string> text;
  if (!message.raw_data().empty())
    text.reset(message.release_raw_data());
  else
    text = std::make_shared<const std::string>(pack_typed(type, message));
  owner = text;
  return std::as_bytes(std::span(*text));
}

std::uint64_t parse_number(const std::string& key, const std::string& text,
                           const std::string& tensor) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end)
    raise(ErrorCode::kInvalidModel,
          "tensor '{}': external data {} is '{}', expected a whole number of bytes", tensor, key,
          text);
  return number;
}

}  // namespace

std::shared_ptr<const MappedFile> ExternalFiles::open(const std::string& location) {
  const auto found = files_.find(location);
  if (found != files_.end()) return found->second;
  return files_[location] = MappedFile::open(folder_ / location);
}

namespace {

/// Refuses locations that a model has no business to read (absolute, or climbing out of its
/// folder).
void check_location(const std::string& location, const std::string& tensor) {
  const std::filesystem::path path(location);
  const char* problem = nullptr;
  if (location.empty())
    problem = "is empty";
  else if (location.find('\0') != std::string::npos)
    problem = "holds a zero byte";
  else if (path.is_absolute())
    problem = "is an absolute path";
  else if (const auto normal = path.lexically_normal(); *normal.begin() == "..")
    problem = "leads out of the model's folder";
  if (problem != nullptr)
    raise(ErrorCode::kInvalidModel,
          "tensor '{}': the external data location '{}' {}; expected a file beside the model",
          tensor, location, problem);
}

}  // namespace

std::span<const std::byte> ExternalFiles::bytes_of(const schema::Tensor& message, Owner& owner) {
  std::string location;
  std::optional<std::uint64_t> offset;
  std::optional<std::uint64_t> length;
  for (const schema::KeyValue& entry : message.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number("offset", entry.value(), message.name());
    if (entry.key() == "length") length = parse_number("length", entry.value(), message.name());
  }
  check_location(location, message.name());
  std::shared_ptr<const MappedFile> file;
  try {
    file = open(location);
  } catch (const Error& error) {
    raise(ErrorCode::kIo, "tensor '{}' keeps its data in another file: {}", message.name(),
          error.what());
  }
  const std::uint64_t size = file->bytes().size();
  const std::uint64_t start = offset.value_or(0);
  if (start > size || length.value_or(0) > size - start)
    raise(ErrorCode::kInvalidModel,
          "tensor '{}': bytes {} to {} of external data file '{}' are wanted, but it has {} bytes; "
          "the file is truncated or belongs to another model",
          message.name(), start, start + length.value_or(0), location, size);
  owner = file;
  return file->bytes().subspan(start, length.value_or(size - start));
}

bool is_known_type(std::int32_t data_type) {
  const auto type = static_cast<DataType>(data_type);
  return type == DataType::kString || ir::bit_width(type) > 0;
}

ir::Tensor take_tensor(schema::Tensor& message, ExternalFiles& files, const std::string& what) {
  const auto type = static_cast<DataType>(message.data_type());
  try {
    ir::element_count(dims_of(message));
  } catch (const Error& error) {
    raise(ErrorCode::kInvalidModel, "{}: {}", what, error.what());
  }
  ir::Tensor tensor;
  if (type == DataType::kString) {
    tensor = take_strings(message, what);
  } else {
    Owner owner;
    auto bytes = take_bytes(type, message, files, owner);
    auto dims = dims_of(message);
    const std::uint64_t expected = byte_count(type, dims);
    // External data without a length end with the file.
    if (message.data_location() == kExternal && bytes.size() > expected)
      bytes = bytes.first(expected);
    if (bytes.size() != expected) raise_size(what, type, message, bytes.size(), expected);
    tensor = ir::Tensor(type, std::move(dims), std::move(owner), bytes);
  }
  message.clear_dims();
  message.clear_data_type();
  clear_data(message);
  return tensor;
}

void inline_external(schema::Tensor& message, ExternalFiles& files) {
  if (message.data_location() != kExternal) return;
  Owner owner;
  const std::string_view bytes = as_text(files.bytes_of(message, owner));
  clear_data(message);
  message.set_raw_data(bytes.data(), bytes.size());
}

void put_tensor(const ir::Tensor& tensor, bool with_data, schema::Tensor& message) {
  message.mutable_dims()->Add(tensor.dims().begin(), tensor.dims().end());
  message.set_data_type(static_cast<std::int32_t>(tensor.type()));
  if (!with_data) return;
  if (tensor.type() == DataType::kString) {
    for (const std::string& text : tensor.strings()) message.add_string_data(text);
    return;
  }
  message.set_raw_data(tensor.bytes().data(), tensor.bytes().size());
}

void put_external(std::string_view location, std::uint64_t offset, std::uint64_t length,
                  schema::Tensor& message) {
  message.set_data_location(kExternal);
  const auto add = [&message](const char* key, std::string value) {
    schema::KeyValue* entry = message.add_external_data();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  add("location", std::string(location));
  add("offset", std::to_string(offset));
  add("length", std::to_string(length));
}

}  // namespace amct::onnx
