#include "amct/formats/onnx/identify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace amct::onnx {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  const char* name;
};

constexpr Signature kSignatures[] = {
    {0, "\x89PNG"sv, "a PNG image"},
    {0, "\xff\xd8\xff"sv, "a JPEG image"},
    {0, "PK\x03\x04"sv, "a zip archive (a PyTorch checkpoint, a Keras model or .npz data)"},
    {0, "\x89HDF"sv, "an HDF5 file (Keras weights)"},
    {0, "\x1f\x8b"sv, "a gzip archive"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0,
     "\x7f"
     "ELF"sv,
     "a program or shared library"},
    {0, "\x80\x02"sv, "a Python pickle (an old PyTorch checkpoint)"},
    {0, "\x80\x04"sv, "a Python pickle"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own .ort format"},
    {0, "version https://git-lfs"sv, "a Git LFS pointer (fetch the real file with `git lfs pull`)"},
};

bool is_text(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 512);
  return std::ranges::all_of(head,
                             [](char c) {
                               const auto byte = static_cast<unsigned char>(c);
                               return byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t';
                             }) &&
         std::ranges::count_if(head, [](char c) { return (c & 0x80) != 0; }) * 4 <=
             static_cast<std::ptrdiff_t>(head.size());
}

/// Reads the top level of a protobuf message: tags and sizes only.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    std::uint64_t number;
    std::uint64_t wire_type;
    std::string_view content;   // of length-delimited fields
    std::uint64_t missing = 0;  // bytes that the file lacks
  };

  bool at_end() const { return position_ >= bytes_.size(); }

  /// The next field, or empty where the bytes are no protobuf.
  std::optional<Field> next() {
    const auto tag = varint();
    if (!tag || *tag >> 3 == 0) return std::nullopt;
    Field field{*tag >> 3, *tag & 7, {}};
    switch (field.wire_type) {
      case 0:
        if (!varint()) return std::nullopt;
        return field;
      case 1:
        return skip(8, field);
      case 5:
        return skip(4, field);
      case 2: {
        const auto size = varint();
        if (!size) return std::nullopt;
        field.content = bytes_.substr(position_, std::min<std::uint64_t>(*size, rest()));
        return skip(*size, field);
      }
      default:
        return std::nullopt;
    }
  }

 private:
  std::uint64_t rest() const { return bytes_.size() - position_; }

  std::optional<Field> skip(std::uint64_t count, Field field) {
    if (count > rest()) field.missing = count - rest();
    position_ += static_cast<std::size_t>(std::min(count, rest()));
    return field;
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !at_end(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[position_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  std::string_view bytes_;
  std::size_t position_ = 0;
};

/// First field of a nested message, for telling protobuf formats apart.
std::optional<Scanner::Field> first_field(std::string_view bytes) { return Scanner(bytes).next(); }

std::string identify_protobuf(std::string_view bytes) {
  Scanner scanner(bytes);
  bool ir_version = false;
  for (std::size_t count = 0; !scanner.at_end() && count < 10000; ++count) {
    const auto field = scanner.next();
    if (!field) return count > 2 && ir_version ? "a damaged ONNX model" : "unknown binary data";
    if (field->number == 1 && field->wire_type == 0) ir_version = true;
    if (field->missing > 0 && ir_version)
      return fmt::format("an ONNX model that ends too early (at least {} bytes are missing)",
                         field->missing);
    if (field->number == 1 && field->wire_type == 2 && count == 0) {
      const auto inner = first_field(field->content);
      if (inner && inner->number == 1 && inner->wire_type == 2)
        return "a frozen TensorFlow graph (GraphDef)";
      return "a protobuf file of another kind (a Caffe model, or an ONNX tensor)";
    }
    if (field->number == 2 && field->wire_type == 2 && count == 1) return "a TensorFlow SavedModel";
  }
  return ir_version ? "a damaged ONNX model" : "a protobuf file of another kind";
}

}  // namespace

std::string identify(std::string_view bytes) {
  if (bytes.empty()) return "an empty file";
  for (const Signature& signature : kSignatures)
    if (bytes.size() > signature.offset &&
        bytes.substr(signature.offset).starts_with(signature.bytes))
      return signature.name;
  if (is_text(bytes)) return "a text file";
  return identify_protobuf(bytes);
}

}  // namespace amct::onnx
