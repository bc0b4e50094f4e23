#include "amct/formats/caffe/matching.h"
#include "amct/formats/caffe/split_names.h"
#include "networks.h"

namespace amct::caffe {
namespace {

using namespace std::string_literals;

constexpr int kLayer = 100, kLayers = 2;

WeightsFile parse(const std::string& bytes) { return WeightsFile::parse(bytes, "net.caffemodel"); }

std::string split_bytes(const WeightsFile& file,
                        const std::map<std::size_t, WeightsSplit>& splits) {
  std::string bytes;
  file.split(splits, [&bytes](std::string_view piece) { bytes += piece; });
  return bytes;
}

/// A network with a name, an unknown field and a layer of a custom type around a convolution.
std::string network(const schema::Layer& convolution) {
  schema::Layer own;
  own.set_name("own");
  own.mutable_unknown_fields()->append("\xfa\x7f\x03xyz");  // field 2047
  return "\x0a\x03net"s + field_of(kLayer, own) + "\xf8\x7f\x07"s + field_of(kLayer, convolution) +
         field_of(kLayer, own);
}

template <typename Message>
Message layer_at(const std::string& bytes, std::size_t number, int field) {
  const std::string tag = field_of(field, Message{}).substr(0, field == kLayer ? 2 : 1);
  // Walks by lengths of two bytes at most, enough for these networks.
  std::size_t at = bytes.find(tag);
  for (std::size_t i = 0;; ++i) {
    std::size_t length = static_cast<unsigned char>(bytes[at + tag.size()]);
    std::size_t head = tag.size() + 1;
    if (length >= 0x80)
      length = (length & 0x7F) + 128 * static_cast<unsigned char>(bytes[at + head++]);
    if (i == number) {
      Message message;
      EXPECT_TRUE(message.ParseFromString(bytes.substr(at + head, length)));
      return message;
    }
    at = bytes.find(tag, at + head + length);
  }
}

const Values kFirst = std::vector<float>{1, 2, 3, 4, 5, 6};
const Values kLast = std::vector<float>(12, 0.5F);

TEST(WeightsFile, IsWrittenBackByteForByte) {
  const std::string bytes = network(convolution_layer("c"));
  EXPECT_EQ(split_bytes(parse(bytes), {}), bytes);
}

TEST(WeightsFile, ReadsBlobs) {
  const std::string bytes = network(convolution_layer("c"));
  const WeightsFile file = parse(bytes);
  ASSERT_EQ(file.layer_count(), 3U);
  EXPECT_EQ(file.find("own"), (std::vector<std::size_t>{0, 2}));
  const auto blobs = file.blobs(1);
  ASSERT_EQ(blobs.size(), 2U);
  EXPECT_EQ(blobs[0].dims, (std::vector<std::int64_t>{4, 2, 3, 3}));
  EXPECT_EQ(std::get<std::vector<float>>(file.read_blob(1, 1))[3], 103.F);
}

TEST(WeightsFile, SplitsALayerAndKeepsTheRest) {
  schema::Layer layer = convolution_layer("c");
  layer.add_loss_weight(1);
  layer.add_propagate_down(true);
  layer.add_param()->set_name("w");
  layer.add_param();
  layer.mutable_unknown_fields()->append("\xfa\x7f\x01k");
  const std::string bytes = network(layer), own = bytes.substr(bytes.rfind("\xa2\x06"));
  WeightsSplit split = example_weights(kFirst, kLast);
  split.layers.first.param_name = "w_0";
  split.layers.last.param_name = "w_1";
  const std::string written = split_bytes(parse(bytes), {{1, split}});
  const std::size_t before = bytes.find("\xf8\x7f\x07"s) + 3;
  EXPECT_EQ(written.substr(0, before), bytes.substr(0, before));
  EXPECT_EQ(written.substr(written.size() - own.size()), own);

  const auto first = layer_at<schema::Layer>(written, 1, kLayer);
  EXPECT_EQ(first.name(), "c_0");
  EXPECT_EQ(first.bottom(0), "data");
  EXPECT_EQ(first.top(0), "c_0");
  EXPECT_EQ(first.param_size(), 1);
  EXPECT_EQ(first.param(0).name(), "w_0");
  EXPECT_EQ(first.loss_weight_size(), 0);
  EXPECT_EQ(first.propagate_down_size(), 1);
  EXPECT_EQ(first.unknown_fields(), layer.unknown_fields());
  EXPECT_FALSE(first.convolution_param().bias_term());
  EXPECT_FALSE(first.convolution_param().has_bias_filler());
  EXPECT_EQ(first.convolution_param().stride_h(), 2U);
  ASSERT_EQ(first.blobs_size(), 1);
  EXPECT_EQ(first.blobs(0).shape().dim(1), 2);
  EXPECT_EQ(first.blobs(0).data(5), 6.F);

  const auto last = layer_at<schema::Layer>(written, 2, kLayer);
  EXPECT_EQ(last.name(), "c_1");
  EXPECT_EQ(last.bottom(0), "c_0");
  EXPECT_EQ(last.top(0), "c");
  EXPECT_EQ(last.param_size(), 2);
  EXPECT_EQ(last.propagate_down_size(), 0);
  EXPECT_EQ(last.convolution_param().num_output(), 4U);
  EXPECT_EQ(last.convolution_param().kernel_w(), 3U);
  ASSERT_EQ(last.blobs_size(), 2);
  EXPECT_EQ(last.blobs(1).SerializeAsString(), layer.blobs(1).SerializeAsString());
}

TEST(WeightsFile, SplitsOldLayersInTheirOwnForm) {
  schema::V1Layer layer;
  layer.set_name("c");
  layer.add_bottom("data");
  layer.add_top("c");
  layer.add_blobs_lr(1);
  layer.add_blobs_lr(2);
  schema::Blob& blob = *layer.add_blobs();
  blob.set_num(4), blob.set_channels(2), blob.set_height(3), blob.set_width(3);
  for (int i = 0; i < 72; ++i) blob.add_data(1);
  const std::string bytes = field_of(kLayers, layer);
  const WeightsFile file = parse(bytes);
  EXPECT_EQ(file.blobs(0)[0].dims, (std::vector<std::int64_t>{4, 2, 3, 3}));
  const std::string written = split_bytes(file, {{0, example_weights(kFirst, kLast)}});
  const auto first = layer_at<schema::V1Layer>(written, 0, kLayers);
  EXPECT_EQ(first.name(), "c_0");
  EXPECT_EQ(first.blobs_lr_size(), 1);
  EXPECT_FALSE(first.blobs(0).has_shape());
  EXPECT_EQ(first.blobs(0).channels(), 2);
  EXPECT_EQ(layer_at<schema::V1Layer>(written, 1, kLayers).blobs(0).width(), 3);
}

TEST(WeightsFile, KeepsTheTypeOfTheNumbers) {
  schema::Layer layer = convolution_layer("c");
  schema::Blob& blob = *layer.mutable_blobs(0);
  blob.clear_data();
  blob.set_raw_data_type(2);
  std::string half;
  for (int i = 0; i < 72; ++i) half += "\x00\x3c"s;  // 1
  blob.set_raw_data(half);
  std::string bytes = network(layer);
  WeightsFile file = parse(bytes);
  EXPECT_EQ(file.blobs(1)[0].type, BlobType::kHalf);
  EXPECT_EQ(std::get<std::vector<float>>(file.read_blob(1, 0))[71], 1.F);
  auto first =
      layer_at<schema::Layer>(split_bytes(file, {{1, example_weights(kFirst, kLast)}}), 1, kLayer);
  EXPECT_EQ(first.blobs(0).raw_data().substr(0, 4), "\x00\x3c\x00\x40"s);

  blob.clear_raw_data();
  for (int i = 0; i < 72; ++i) blob.add_double_data(0.1);
  bytes = network(layer);
  file = parse(bytes);
  EXPECT_EQ(file.blobs(1)[0].type, BlobType::kDouble);
  const Values one = std::vector<double>{.1, .2, .3, .4, .5, .6};
  first = layer_at<schema::Layer>(
      split_bytes(file, {{1, example_weights(one, std::vector<double>(12))}}), 1, kLayer);
  EXPECT_EQ(first.blobs(0).double_data(1), .2);
}

TEST(WeightsFile, RefusesEveryTruncation) {
  const std::string bytes = network(convolution_layer("c"));
  const std::size_t own = field_of(kLayer, layer_at<schema::Layer>(bytes, 0, kLayer)).size();
  const std::size_t end = bytes.size() - own;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    // A cut between two fields leaves a shorter file that is whole.
    if (size == 5 + own || size == 8 + own || size == end) continue;
    const std::string cut = bytes.substr(0, size);
    const std::string message = error_of([&] { parse(cut); });
    expect_part(message, "'net.caffemodel'");
    if (size > 5 + own) expect_part(message, "truncated or damaged");
  }
}

TEST(WeightsFile, SaysWhatAForeignFileLooksLike) {
  expect_part(error_of([] { parse(""); }), "(0 bytes) is not a Caffe weights file");
  expect_part(error_of([] { parse("layer { name: 'c' }\n"); }), "a text file");
  expect_part(error_of([] { parse("\x89HDF\r\n\x1a\n"); }), "an HDF5 file");
  schema::V1Layer old;
  old.mutable_unknown_fields()->append("\x0a\x00"s);  // field 1: a V0 layer
  const std::string bytes = field_of(kLayers, old);
  expect_part(error_of([&] { parse(bytes); }), "V0");
}

TEST(WeightsFile, NamesTheLayerWhoseBlobIsDamaged) {
  schema::Layer layer = convolution_layer("c");
  layer.mutable_blobs(0)->mutable_shape()->set_dim(0, 5);
  std::string bytes = network(layer);
  expect_part(
      error_of([&] { parse(bytes).blobs(1); }),
      "'net.caffemodel', layer 'c': it has 72 numbers, but its shape [5, 2, 3, 3] needs 90");
  layer.mutable_blobs(0)->mutable_shape()->set_dim(0, std::int64_t{1} << 62);
  bytes = network(layer);
  expect_part(error_of([&] { parse(bytes).blobs(1); }), "layer 'c': ");
}

constexpr const char* kDefinition =
    "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' convolution_param { num_output: "
    "4 kernel_size: 3 } } layer { name: 'c_0' type: 'ReLU' bottom: 'c' top: 'c_0' }";

TEST(Matching, FindsWeightsByName) {
  const std::string bytes = network(convolution_layer("c"));
  const Definition definition = Definition::parse(kDefinition, "net.prototxt");
  const auto matches = match_convolutions(definition, parse(bytes));
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].weights_layer, 1U);
  EXPECT_EQ(matches[0].weight.dims[1], 2);
}

TEST(Matching, ListsEveryMismatch) {
  const Definition definition = Definition::parse(
      "layer { name: 'a' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: "
      "4 "
      "kernel_size: 3 } } "
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: "
      "4 "
      "kernel_size: 5 } }"
      "layer { name: 'd' type: 'Convolution' bottom: 'x' top: 'y' convolution_param { num_output: "
      "4 "
      "kernel_size: 3 bias_term: false } }",
      "net.prototxt");
  const std::string bytes =
      network(convolution_layer("c")) + field_of(kLayer, convolution_layer("d"));
  EXPECT_EQ(error_of([&] { match_convolutions(definition, parse(bytes)); }),
            "'net.prototxt' and 'net.caffemodel' do not belong together: layer 'a': the weights "
            "file has no layer of this name; layer 'c': expected weights of the shape [4, input "
            "channels, 5, 5], found [4, 2, 3, 3]; layer 'd': expected 1 blobs (weights, no bias), "
            "found 2");
}

TEST(SplitNames, AvoidsNamesOfBothFiles) {
  schema::Layer other;
  other.set_name("c_1");
  const std::string bytes = network(convolution_layer("c")) + field_of(kLayer, other);
  const Definition definition = Definition::parse(kDefinition, "net.prototxt");
  SplitNames names(definition, parse(bytes));
  const LayerText& layer = definition.layers()[0];
  const ConvolutionSplit split = names.plan(layer, definition.convolution(layer), 2, false);
  EXPECT_EQ(split.first.name, "c_0_1");
  EXPECT_EQ(split.last.name, "c_1_1");
  EXPECT_EQ(split.middle, (std::vector<std::string>{"c_0_1"}));
  EXPECT_EQ(split.first.window.kernel_w, 3);
  EXPECT_EQ(split.first.window.kernel_h, 1);
  EXPECT_EQ(split.last.window.kernel_h, 3);
  EXPECT_EQ(split.first.num_output, 2);
}

}  // namespace
}  // namespace amct::caffe
