#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace amct::caffe {

/// One field of a binary protobuf message.
struct WireField {
  std::uint32_t number = 0;
  std::string_view all;      // tag, length and content
  std::string_view content;  // of a length-delimited field (string, message, packed numbers)
  bool delimited = false;
};

/// Walks over the fields of a message without reading into them; nothing is copied.
class WireReader {
 public:
  /// At most 2 GB.
  explicit WireReader(std::string_view message) : message_(message) {}

  /// The next field; none at the end, and where the message is damaged.
  std::optional<WireField> next();
  bool damaged() const { return damaged_; }
  std::size_t position() const { return position_; }

 private:
  std::string_view message_;
  std::size_t position_ = 0;
  bool damaged_ = false;
};

}  // namespace amct::caffe
