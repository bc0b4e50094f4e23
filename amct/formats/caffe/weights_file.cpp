#include "amct/formats/caffe/weights_file.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "amct/base/error.h"
#include "amct/base/mapped_file.h"
#include "amct/formats/caffe/blob.h"
#include "amct/formats/caffe/schema.h"
#include "amct/formats/caffe/split_weights.h"
#include "amct/formats/caffe/wire.h"

namespace amct::caffe {
namespace {

/// Field numbers of NetParameter, LayerParameter and V1LayerParameter.
constexpr std::uint32_t kLayers = 2, kLayer = 100;
constexpr std::uint32_t kName = 1, kV1Name = 4, kV1V0Layer = 1;

/// What else the bytes may be.
const char* hint(std::string_view bytes) {
  if (bytes.starts_with("\x89HDF")) return " but an HDF5 file; save it as .caffemodel with Caffe";
  const std::string_view start = bytes.substr(0, 4096);
  if (!start.empty() && std::all_of(start.begin(), start.end(),
                                    [](char c) { return c >= 0x20 || (c >= '\t' && c <= '\r'); }))
    return " but a text file, perhaps the definition (.prototxt)";
  return "";
}

/// Writes a layer as a field of the network.
template <typename Message>
void write_layer(const Message& message, std::uint32_t number,
                 const std::function<void(std::string_view)>& write) {
  const std::string content = message.SerializePartialAsString();
  std::string head;
  const auto put_varint = [&head](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) head += static_cast<char>((value & 0x7F) | 0x80);
    head += static_cast<char>(value);
  };
  put_varint((std::uint64_t{number} << 3) | 2);
  put_varint(content.size());
  write(head);
  write(content);
}

}  // namespace

WeightsFile WeightsFile::load(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  WeightsFile result = parse(file->text(), path.string());
  result.owner_ = file;
  return result;
}

WeightsFile WeightsFile::parse(std::string_view bytes, std::string name) {
  WeightsFile result;
  result.bytes_ = bytes;
  result.name_ = std::move(name);
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    raise(ErrorCode::kInvalidModel, "'{}' has {} bytes; a Caffe weights file has at most 2 GB",
          result.name_, bytes.size());
  WireReader reader(bytes);
  while (const auto field = reader.next())
    if (field->delimited && (field->number == kLayer || field->number == kLayers))
      result.add_layer(field->all, field->content, field->number == kLayers);
  if (result.layers_.empty())
    raise(ErrorCode::kInvalidModel,
          "'{}' ({} bytes) is not a Caffe weights file (.caffemodel){}: it has no whole layer",
          result.name_, bytes.size(), hint(bytes));
  if (reader.damaged())
    raise(ErrorCode::kInvalidModel,
          "'{}' is truncated or damaged: the piece at byte {} of {} is not whole; the last sound "
          "layer is '{}'. Copy the file again",
          result.name_, reader.position(), bytes.size(), result.layers_.back().name);
  return result;
}

void WeightsFile::add_layer(std::string_view field, std::string_view message, bool v1) {
  Layer layer{{}, v1, field, message};
  WireReader reader(message);
  while (const auto inner = reader.next()) {
    if (v1 && inner->number == kV1V0Layer)
      raise(ErrorCode::kUnsupported,
            "'{}' is in Caffe's first format (V0); convert it with Caffe's "
            "upgrade_net_proto_binary",
            name_);
    if (inner->number == (v1 ? kV1Name : kName) && inner->delimited) layer.name = inner->content;
  }
  layers_.push_back(std::move(layer));
}

std::vector<std::size_t> WeightsFile::find(std::string_view layer_name) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < layers_.size(); ++i)
    if (layers_[i].name == layer_name) found.push_back(i);
  return found;
}

template <typename Message>
Message WeightsFile::parse_layer(const Layer& layer) const {
  Message message;
  if (!message.ParsePartialFromArray(layer.message.data(), static_cast<int>(layer.message.size())))
    raise(ErrorCode::kInvalidModel, "its message is damaged");
  return message;
}

/// Calls action(message) with the layer's message; errors name file and layer.
template <typename Action>
auto WeightsFile::with_layer(const Layer& layer, const Action& action) const {
  try {
    return layer.v1 ? action(parse_layer<schema::V1Layer>(layer))
                    : action(parse_layer<schema::Layer>(layer));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("'{}', layer '{}': {}", name_, layer.name, error.what()));
  }
}

std::vector<BlobInfo> WeightsFile::blobs(std::size_t layer) const {
  return with_layer(layers_[layer], [](const auto& message) {
    std::vector<BlobInfo> infos;
    for (const schema::Blob& blob : message.blobs()) infos.push_back(describe(blob));
    return infos;
  });
}

Values WeightsFile::read_blob(std::size_t layer, std::size_t blob) const {
  return with_layer(layers_[layer], [blob](const auto& message) {
    return read_values(message.blobs(static_cast<int>(blob)));
  });
}

void WeightsFile::split(const std::map<std::size_t, WeightsSplit>& splits,
                        const std::function<void(std::string_view)>& write) const {
  const char* done = bytes_.data();
  for (const auto& entry : splits) {
    const Layer& layer = layers_[entry.first];
    write({done, static_cast<std::size_t>(layer.field.data() - done)});
    with_layer(layer, [&](auto message) {
      const auto [first, last] = split_layer(std::move(message), entry.second);
      write_layer(first, layer.v1 ? kLayers : kLayer, write);
      write_layer(last, layer.v1 ? kLayers : kLayer, write);
      return 0;
    });
    done = layer.field.data() + layer.field.size();
  }
  write({done, static_cast<std::size_t>(bytes_.data() + bytes_.size() - done)});
}

}  // namespace amct::caffe
