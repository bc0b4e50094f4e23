#include "amct/formats/caffe/wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

namespace amct::caffe {

using google::protobuf::internal::WireFormatLite;

std::optional<WireField> WireReader::next() {
  if (damaged_ || position_ == message_.size()) return std::nullopt;
  const std::string_view rest = message_.substr(position_);
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(rest.data()),
                                                static_cast<int>(rest.size()));
  const std::uint32_t tag = stream.ReadTag();
  WireField field;
  field.number = static_cast<std::uint32_t>(WireFormatLite::GetTagFieldNumber(tag));
  field.delimited =
      WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  std::uint32_t length = 0;
  bool sound = field.number != 0;
  if (sound && field.delimited) {
    sound = stream.ReadVarint32(&length) &&
            length <= rest.size() - static_cast<std::size_t>(stream.CurrentPosition());
    if (sound) {
      field.content = rest.substr(static_cast<std::size_t>(stream.CurrentPosition()), length);
      sound = stream.Skip(static_cast<int>(length));
    }
  } else if (sound) {
    sound = WireFormatLite::SkipField(&stream, tag);
  }
  if (!sound) {
    damaged_ = true;
    return std::nullopt;
  }
  field.all = rest.substr(0, static_cast<std::size_t>(stream.CurrentPosition()));
  position_ += field.all.size();
  return field;
}

}  // namespace amct::caffe
