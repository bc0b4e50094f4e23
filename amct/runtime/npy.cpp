#include "amct/runtime/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "amct/base/atomic_file.h"
#include "amct/base/error.h"

namespace amct::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct NpyType {
  std::string_view code;
  ir::DataType type;
};
constexpr NpyType kTypes[] = {
    {"f4", ir::DataType::kFloat},  {"f8", ir::DataType::kDouble}, {"f2", ir::DataType::kFloat16},
    {"i1", ir::DataType::kInt8},   {"i2", ir::DataType::kInt16},  {"i4", ir::DataType::kInt32},
    {"i8", ir::DataType::kInt64},  {"u1", ir::DataType::kUInt8},  {"u2", ir::DataType::kUInt16},
    {"u4", ir::DataType::kUInt32}, {"u8", ir::DataType::kUInt64}, {"b1", ir::DataType::kBool}};

/// Reads the Python dictionary of a header: string keys; strings, booleans and tuples of integers.
class HeaderText {
 public:
  HeaderText(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  NpyHeader read() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr")
        read_type(header), descr = true;
      else if (key == "fortran_order")
        header.fortran_order = boolean(), order = true;
      else if (key == "shape")
        header.dims = tuple(), shape = true;
      else
        refuse("its header has an unknown field");
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) refuse("its header lacks descr, fortran_order or shape");
    return header;
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    raise(ErrorCode::kInvalidData, "'{}' is not a readable .npy file: {}", name_, why);
  }
  void skip_spaces() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t'))
      text_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_spaces();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("'{}' is missing in its header", c));
  }
  std::string_view string() {
    skip_spaces();
    const char quote = text_.empty() ? '\0' : text_[0];
    if (quote != '\'' && quote != '"') refuse("its element type is not a plain one");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) refuse("a string in its header has no end");
    const std::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }
  bool boolean() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair{"True", true}, std::pair{"False", false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(std::string_view(word).size());
      return value;
    }
    refuse("fortran_order is neither True nor False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> dims;
    expect('(');
    while (!accept(')')) {
      skip_spaces();
      std::int64_t dim = -1;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) refuse("its shape is not a list of sizes");
      if (dims.size() == 64) refuse("its shape has more than 64 dimensions");
      dims.push_back(dim);
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return dims;
  }
  void read_type(NpyHeader& header) {
    const std::string_view text = string();
    if (text.size() > 1)
      for (const NpyType& known : kTypes)
        if (text.substr(1) == known.code && std::string_view("<>|=").find(text[0]) != text.npos) {
          header.type = known.type;
          header.big_endian = text[0] == '>';
          return;
        }
    refuse(fmt::format("its element type '{}' is none of the plain numeric ones", text));
  }

  std::string_view text_;
  std::string_view name_;
};

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = (value << 8) | std::to_integer<std::uint32_t>(bytes[i - 1]);
  return value;
}

std::size_t item_bytes(ir::DataType type) { return static_cast<std::size_t>(bit_width(type)) / 8; }

/// Copies a column-major array into row-major order, item by item.
void to_row_major(std::span<const std::byte> from, const std::vector<std::int64_t>& dims,
                  std::size_t item, std::span<std::byte> to) {
  std::vector<std::size_t> stride(dims.size(), item);
  for (std::size_t axis = 1; axis < dims.size(); ++axis)
    stride[axis] = stride[axis - 1] * static_cast<std::size_t>(dims[axis - 1]);
  std::vector<std::int64_t> index(dims.size(), 0);
  std::size_t source = 0;
  for (std::size_t target = 0; target < to.size(); target += item) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), item,
                to.begin() + static_cast<std::ptrdiff_t>(target));
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < dims[axis]) break;
      source -= stride[axis] * static_cast<std::size_t>(dims[axis]);
      index[axis] = 0;
    }
  }
}

}  // namespace

std::uint64_t NpyHeader::data_bytes() const {
  return static_cast<std::uint64_t>(ir::element_count(dims)) * item_bytes(type);
}

NpyHeader parse_npy_header(std::span<const std::byte> start, std::string_view name) {
  const auto refuse = [&](std::string_view why) {
    raise(ErrorCode::kInvalidData, "'{}' is not a readable .npy file: {}", name, why);
  };
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with(kMagic) || start.size() < 10) refuse("it does not start as one");
  const auto version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) refuse(fmt::format("format version {} is unknown", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (start.size() < begin) refuse("its header is cut off");
  const std::size_t length = little_endian(start.subspan(8, length_bytes));
  if (length > kMaxNpyHeader - begin) refuse("its header is longer than 64 KiB");
  if (length > start.size() - begin) refuse("its header is cut off");
  NpyHeader header = HeaderText(text.substr(begin, length), name).read();
  header.data_offset = begin + length;
  try {
    ir::element_count(header.dims);
  } catch (const Error&) {
    refuse("its shape is too large");
  }
  return header;
}

ir::Tensor npy_tensor(const NpyHeader& header, std::shared_ptr<const void> owner,
                      std::span<const std::byte> data) {
  const std::size_t item = item_bytes(header.type);
  const bool reorder = header.fortran_order && header.dims.size() > 1;
  const bool swap = header.big_endian && item > 1;
  if (!reorder && !swap) return ir::Tensor(header.type, header.dims, std::move(owner), data);
  auto buffer = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
  if (reorder) to_row_major(data, header.dims, item, *buffer);
  if (swap)
    for (auto it = buffer->begin(); it != buffer->end(); it += static_cast<std::ptrdiff_t>(item))
      std::reverse(it, it + static_cast<std::ptrdiff_t>(item));
  const std::span<const std::byte> bytes = *buffer;
  return ir::Tensor(header.type, header.dims, std::move(buffer), bytes);
}

ir::Tensor parse_npy(std::span<const std::byte> bytes, std::string_view name) {
  const NpyHeader header =
      parse_npy_header(bytes.first(std::min(bytes.size(), kMaxNpyHeader)), name);
  const std::span<const std::byte> data = bytes.subspan(header.data_offset);
  if (data.size() != header.data_bytes())
    raise(ErrorCode::kInvalidData, "'{}' has {} bytes of elements; its header needs {}", name,
          data.size(), header.data_bytes());
  auto buffer = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
  const std::span<const std::byte> view = *buffer;
  return npy_tensor(header, std::move(buffer), view);
}

void write_npy(const std::filesystem::path& path, const ir::Tensor& tensor) {
  if (tensor.type() == ir::DataType::kBFloat16) {
    const std::vector<float> values = ir::to_float(tensor);
    write_npy(path, ir::Tensor::of<float>(tensor.dims(), values));
    return;
  }
  const auto known = std::ranges::find(kTypes, tensor.type(), &NpyType::type);
  if (known == std::end(kTypes))
    raise(ErrorCode::kUnsupported, "'{}': NumPy files cannot hold {}", path.string(),
          to_string(tensor.type()));
  std::string shape;
  for (const std::int64_t dim : tensor.dims()) shape += fmt::format("{}, ", dim);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   item_bytes(tensor.type()) > 1 ? '<' : '|', known->code, shape);
  // The elements start at a multiple of 64 bytes; the header ends with a line feed.
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  AtomicFile file(path);
  file.write(start);
  file.write(header);
  file.write({reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size()});
  file.commit();
}

}  // namespace amct::runtime
