#include "amct/runtime/data_source.h"

#include <future>
#include <utility>

#include "amct/base/error.h"
#include "amct/runtime/data_files.h"
#include "amct/runtime/feed_check.h"
#include "amct/runtime/zip_archive.h"

namespace amct::runtime {
namespace {

class MemorySource final : public DataSource {
 public:
  explicit MemorySource(std::vector<Feed> batches) : batches_(std::move(batches)) {}
  std::size_t batches() const override { return batches_.size(); }
  Feed batch(std::size_t i) override { return batches_.at(i); }

 private:
  std::vector<Feed> batches_;
};

/// Reads the pieces of one input. An array that cannot be read in part is kept until the next one.
class InputReader {
 public:
  InputReader(InputSpec spec, std::vector<Piece> pieces)
      : spec_(std::move(spec)), pieces_(std::move(pieces)) {}

  const InputSpec& spec() const { return spec_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  ir::DataType type() const {
    const ir::DataType port = spec_.port.type.data_type;
    return port == ir::DataType::kUndefined ? pieces_.at(0).array.type : port;
  }

  ir::Tensor read(std::size_t i) {
    const Piece& piece = pieces_.at(i);
    ir::Tensor tensor = in_place(piece) ? read_part(piece) : slice(piece);
    if (tensor.type() == type()) return tensor;
    return convert(tensor, type(), fmt::format("'{}'", piece.path.string()));
  }

 private:
  static bool in_place(const Piece& piece) {
    return piece.kind != FileKind::kNpz && !piece.array.fortran_order && !piece.array.big_endian;
  }

  static ir::Tensor read_part(const Piece& piece) {
    NpyHeader part = piece.array;
    part.dims = piece.dims;
    auto buffer =
        InputFile(piece.path).read(piece.array.data_offset + piece.first_byte, part.data_bytes());
    const std::span<const std::byte> bytes = *buffer;
    return ir::Tensor(part.type, part.dims, std::move(buffer), bytes);
  }

  ir::Tensor slice(const Piece& piece) {
    if (whole_path_ != piece.path) {
      whole_ = {};
      whole_ = read_whole(piece);
      whole_path_ = piece.path;
    }
    if (piece.dims == piece.array.dims) {
      whole_path_.clear();
      return std::exchange(whole_, {});
    }
    NpyHeader part = piece.array;
    part.dims = piece.dims;
    auto owner = std::make_shared<ir::Tensor>(whole_);
    const auto bytes = owner->bytes().subspan(piece.first_byte, part.data_bytes());
    return ir::Tensor(part.type, part.dims, std::move(owner), bytes);
  }

  static ir::Tensor read_whole(const Piece& piece) {
    std::shared_ptr<std::vector<std::byte>> buffer;
    if (piece.kind == FileKind::kNpz) {
      const ZipArchive archive(piece.path);
      for (const ZipEntry& entry : archive.entries())
        if (entry.name == piece.member) buffer = archive.read(entry);
    } else {
      const InputFile file(piece.path);
      buffer = file.read(0, file.size());
    }
    if (!buffer || buffer->size() != piece.array.data_offset + piece.array.data_bytes())
      raise(ErrorCode::kInvalidData, "'{}' has changed since it was checked", piece.path.string());
    const auto data = std::span<const std::byte>(*buffer).subspan(piece.array.data_offset);
    return npy_tensor(piece.array, std::move(buffer), data);
  }

  InputSpec spec_;
  std::vector<Piece> pieces_;
  std::filesystem::path whole_path_;
  ir::Tensor whole_;
};

class FileSource final : public DataSource {
 public:
  FileSource(std::vector<InputReader> readers, std::size_t batches)
      : readers_(std::move(readers)), batches_(batches) {}
  ~FileSource() override {
    if (ahead_.valid()) ahead_.wait();
  }

  std::size_t batches() const override { return batches_; }

  Feed batch(std::size_t i) override {
    Feed feed;
    if (ahead_.valid()) {
      // A failure belongs to the batch that was read ahead, which may never be asked for.
      if (ahead_index_ == i)
        feed = ahead_.get();
      else
        ahead_.wait(), ahead_ = {};
    }
    if (feed.empty()) feed = read(i);
    if (i + 1 < batches_) {
      ahead_index_ = i + 1;
      ahead_ = std::async(std::launch::async, [this, next = i + 1] { return read(next); });
    }
    return feed;
  }

 private:
  Feed read(std::size_t i) {
    Feed feed;
    for (InputReader& reader : readers_) feed.emplace_back(reader.spec().port.name, reader.read(i));
    return feed;
  }

  std::vector<InputReader> readers_;
  std::size_t batches_;
  std::size_t ahead_index_ = 0;
  std::future<Feed> ahead_;
};

/// The same number of batches everywhere, enough of them, and dims that go together.
void check_batches(const std::vector<InputReader>& readers, const std::vector<PortInfo>& inputs,
                   std::size_t wanted) {
  const InputReader& first = readers[0];
  for (const InputReader& reader : readers)
    if (reader.pieces().size() != first.pieces().size())
      raise(
          ErrorCode::kInvalidData,
          "input '{}' has {} batches of data ('{}') and input '{}' has {} ('{}'); the numbers must "
          "be equal",
          first.spec().port.name, first.pieces().size(), first.spec().source.string(),
          reader.spec().port.name, reader.pieces().size(), reader.spec().source.string());
  if (first.pieces().size() < wanted)
    raise(ErrorCode::kInvalidData,
          "{} batches are wanted, but '{}' holds {}; add data or lower the number of batches",
          wanted, first.spec().source.string(), first.pieces().size());
  for (std::size_t i = 0; i < first.pieces().size(); ++i) {
    std::vector<Shape> shapes;
    for (const InputReader& reader : readers)
      shapes.push_back({reader.type(), &reader.pieces()[i].dims});
    check_shapes(inputs, shapes);
  }
}

}  // namespace

std::unique_ptr<DataSource> open_data(const DataOptions& options,
                                      const std::vector<PortInfo>& inputs,
                                      std::size_t wanted_batches) {
  if (inputs.empty()) raise(ErrorCode::kInvalidData, "the model has no inputs to give data to");
  std::vector<InputSpec> specs = parse_data_options(options, inputs);
  const bool shared = inputs.size() > 1 && specs[0].source == specs[1].source;
  std::vector<InputReader> readers;
  for (InputSpec& spec : specs) {
    std::vector<Piece> pieces = plan_pieces(spec, inputs.size() > 1);
    if (shared && pieces[0].kind != FileKind::kNpz)
      raise(ErrorCode::kUsage,
            "data_dir names one source for {} inputs; give one folder per input, separated by ';', "
            "or .npz files with the inputs' names",
            inputs.size());
    readers.emplace_back(std::move(spec), std::move(pieces));
  }
  check_batches(readers, inputs, wanted_batches);
  const std::size_t available = readers[0].pieces().size();
  return std::make_unique<FileSource>(std::move(readers),
                                      wanted_batches > 0 ? wanted_batches : available);
}

std::unique_ptr<DataSource> make_memory_source(std::vector<Feed> batches) {
  return std::make_unique<MemorySource>(std::move(batches));
}

std::size_t batches_to_run(const DataSource& data, std::size_t batch_num) {
  const std::size_t batches = batch_num > 0 ? batch_num : data.batches();
  if (data.batches() < batches || batches == 0)
    raise(ErrorCode::kInvalidData, "{} batches are wanted, but the data have {}", batches,
          data.batches());
  return batches;
}

}  // namespace amct::runtime
