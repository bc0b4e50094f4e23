#include "amct/runtime/data_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "amct/base/error.h"
#include "amct/base/log.h"
#include "amct/runtime/feed_check.h"
#include "amct/runtime/zip_archive.h"

namespace amct::runtime {
namespace {

namespace fs = std::filesystem;
using Dims = std::vector<std::int64_t>;

std::optional<FileKind> kind_of(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".bin") return FileKind::kBin;
  if (extension == ".npy") return FileKind::kNpy;
  if (extension == ".npz") return FileKind::kNpz;
  return std::nullopt;
}

/// Digits compare as numbers: "b2" before "b10".
bool natural_less(std::string_view a, std::string_view b) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view& text) {
    std::size_t end = 0;
    while (end < text.size() && digit(text[end])) ++end;
    std::string_view result = text.substr(0, end);
    text.remove_prefix(end);
    result.remove_prefix(std::min(result.find_first_not_of('0'), result.size()));
    return result;
  };
  while (!a.empty() && !b.empty()) {
    if (digit(a[0]) && digit(b[0])) {
      const std::string_view left = number(a), right = number(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

void report_order(const std::string& input, const std::vector<fs::path>& files) {
  log_debug("data of input '{}': {} file(s) in ascending byte order of names, '{}' to '{}'", input,
            files.size(), files.front().filename().string(), files.back().filename().string());
  for (std::size_t i = 1; i < files.size(); ++i) {
    const std::string before = files[i - 1].filename().string(),
                      after = files[i].filename().string();
    if (!natural_less(after, before)) continue;
    log_warning(
        "data of input '{}': '{}' is taken before '{}' (byte order of names); pad the "
        "numbers with zeros if that is not meant",
        input, before, after);
    return;
  }
}

std::vector<fs::path> list_files(const InputSpec& spec) {
  std::error_code error;
  if (!fs::exists(spec.source, error))
    raise(ErrorCode::kInvalidData, "data of input '{}': '{}' does not exist", spec.port.name,
          spec.source.string());
  if (!fs::is_directory(spec.source, error)) {
    if (!kind_of(spec.source))
      raise(ErrorCode::kInvalidData, "data of input '{}': '{}' is no .bin, .npy or .npz file",
            spec.port.name, spec.source.string());
    return {spec.source};
  }
  std::vector<fs::path> files;
  std::size_t others = 0;
  for (fs::directory_iterator it(spec.source, error), end; !error && it != end;
       it.increment(error)) {
    if (kind_of(it->path()) && !it->is_directory())
      files.push_back(it->path());
    else
      ++others;
  }
  if (error)
    raise(ErrorCode::kIo, "cannot read the folder '{}': {}", spec.source.string(), error.message());
  if (files.empty())
    raise(ErrorCode::kInvalidData,
          "data of input '{}': the folder '{}' holds no .bin, .npy or .npz file ({} other entries)",
          spec.port.name, spec.source.string(), others);
  std::ranges::sort(files, {}, [](const fs::path& path) { return path.filename().string(); });
  for (const fs::path& file : files)
    if (kind_of(file) != kind_of(files[0]))
      raise(ErrorCode::kInvalidData, "data of input '{}': '{}' and '{}' are of different kinds",
            spec.port.name, files[0].string(), file.string());
  return files;
}

/// Dims wanted of a batch, -1 where any number does.
std::optional<Dims> wanted_dims(const InputSpec& spec) {
  if (spec.dims) return spec.dims;
  if (!spec.port.type.shape) return std::nullopt;
  Dims dims;
  for (const ir::Dim& dim : *spec.port.type.shape) dims.push_back(dim.value.value_or(-1));
  return dims;
}

/// Plans the files of one input.
class Planner {
 public:
  Planner(const InputSpec& spec, bool several_inputs)
      : spec_(spec), several_inputs_(several_inputs), wanted_(wanted_dims(spec)) {}

  std::vector<Piece> plan() {
    const std::vector<fs::path> files = list_files(spec_);
    const FileKind kind = *kind_of(files[0]);
    report_order(spec_.port.name, files);
    if (kind == FileKind::kBin) check_bin_spec();
    for (const fs::path& file : files) {
      if (kind == FileKind::kBin)
        add_bin(file);
      else if (kind == FileKind::kNpy)
        add_npy(file);
      else
        add_npz(file);
    }
    return std::move(pieces_);
  }

 private:
  [[noreturn]] void refuse(const fs::path& file, const std::string& why) const {
    raise(ErrorCode::kInvalidData, "data of input '{}': '{}' {}", spec_.port.name, file.string(),
          why);
  }

  std::string wanted_text(ir::DataType type) const {
    return ir::to_string(type) + (wanted_ ? describe_dims(*wanted_) : "[...]");
  }

  void check_type(const fs::path& file, ir::DataType type) {
    const ir::DataType port = spec_.port.type.data_type;
    if (port == ir::DataType::kUndefined || type == port) return;
    if (!convertible(type, port))
      refuse(file, fmt::format("holds {}, but the model wants {}", ir::to_string(type),
                               ir::to_string(port)));
    if (!std::exchange(warned_type_, true))
      log_warning("data of input '{}': {} is converted to {}", spec_.port.name, ir::to_string(type),
                  ir::to_string(port));
  }

  void check_bin_spec() {
    type_ = spec_.type.value_or(spec_.port.type.data_type);
    if (bit_width(type_) < 8 || bit_width(type_) > 64)
      raise(ErrorCode::kUsage, "data of input '{}': .bin files cannot hold {}; give --data_types",
            spec_.port.name, ir::to_string(type_));
    if (!wanted_ || std::count(wanted_->begin(), wanted_->end(), -1) >
                        (!wanted_->empty() && wanted_->front() < 0 ? 1 : 0))
      raise(
          ErrorCode::kUsage,
          "data of input '{}': the model does not fix its shape ({}), which .bin files need; give "
          "--input_shape=\"{}:...\"",
          spec_.port.name, describe(spec_.port.type), spec_.port.name);
  }

  void warn_split(const fs::path& file, std::uint64_t batches) {
    if (!std::exchange(warned_split_, true))
      log_warning("data of input '{}': '{}' holds {} batches of {}; it is split into them",
                  spec_.port.name, file.string(), batches, describe_dims(*wanted_));
  }

  void add_pieces(const Piece& whole, const Dims& dims, std::uint64_t count) {
    NpyHeader batch = whole.array;
    batch.dims = dims;
    for (std::uint64_t i = 0; i < count; ++i) {
      pieces_.push_back(whole);
      pieces_.back().dims = dims;
      pieces_.back().first_byte = i * batch.data_bytes();
    }
  }

  void add_bin(const fs::path& file) {
    check_type(file, type_);
    const std::uint64_t size = InputFile(file).size();
    Dims dims = *wanted_;
    const bool infer = !dims.empty() && dims[0] < 0;
    if (infer) dims[0] = 1;
    const std::uint64_t row = static_cast<std::uint64_t>(ir::element_count(dims)) *
                              static_cast<std::uint64_t>(bit_width(type_)) / 8;
    if (row == 0 || size == 0 || size % row != 0)
      refuse(file, fmt::format("has {} bytes; {}{} bytes are wanted for {}", size,
                               infer ? "a multiple of " : "", row, wanted_text(type_)));
    Piece piece{file, FileKind::kBin, "", {}, {}, 0};
    const auto count = static_cast<std::int64_t>(size / row);
    if (infer) dims[0] = count;
    piece.array = {type_, dims, false, false, 0};
    if (!infer && count > 1) warn_split(file, size / row);
    add_pieces(piece, dims, infer ? 1 : size / row);
  }

  void add_npy(const fs::path& file) {
    const InputFile input(file);
    const auto start = input.read(0, std::min<std::uint64_t>(input.size(), kMaxNpyHeader));
    Piece piece{file, FileKind::kNpy, "", parse_npy_header(*start, file.string()), {}, 0};
    if (input.size() - piece.array.data_offset != piece.array.data_bytes())
      refuse(file, fmt::format("has {} bytes of elements; its header needs {}",
                               input.size() - piece.array.data_offset, piece.array.data_bytes()));
    add_array(piece);
  }

  const ZipEntry& member_for(const fs::path& file, const ZipArchive& archive) const {
    const auto& entries = archive.entries();
    for (const ZipEntry& entry : entries)
      if (entry.name == spec_.port.name + ".npy" || entry.name == spec_.port.name) return entry;
    if (!several_inputs_ && entries.size() == 1) return entries[0];
    std::string names;
    for (const ZipEntry& entry : entries)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", entry.name);
    refuse(file, "has no array of that name; it holds " + (names.empty() ? "nothing" : names));
  }

  void add_npz(const fs::path& file) {
    const ZipArchive archive(file);
    const ZipEntry& entry = member_for(file, archive);
    const std::string name = file.string() + ":" + entry.name;
    const auto start = archive.read(entry, kMaxNpyHeader);
    Piece piece{file, FileKind::kNpz, entry.name, parse_npy_header(*start, name), {}, 0};
    if (entry.bytes - piece.array.data_offset != piece.array.data_bytes())
      refuse(name, fmt::format("has {} bytes of elements; its header needs {}",
                               entry.bytes - piece.array.data_offset, piece.array.data_bytes()));
    add_array(piece);
  }

  void add_array(const Piece& piece) {
    const Dims& dims = piece.array.dims;
    check_type(piece.path, piece.array.type);
    if (ir::element_count(dims) == 0)
      refuse(piece.path, "holds no elements: " + describe_dims(dims));
    if (!wanted_) return add_pieces(piece, dims, 1);
    bool fits = dims.size() == wanted_->size();
    for (std::size_t i = 1; fits && i < dims.size(); ++i)
      fits = (*wanted_)[i] < 0 || (*wanted_)[i] == dims[i];
    const std::int64_t rows = dims.empty() || wanted_->empty() ? -1 : wanted_->front();
    if (!fits || (rows >= 0 && (rows == 0 || dims[0] % rows != 0)))
      refuse(piece.path, fmt::format("holds {}{}; wanted is {}", ir::to_string(piece.array.type),
                                     describe_dims(dims), wanted_text(spec_.port.type.data_type)));
    Dims batch = dims;
    std::uint64_t count = 1;
    if (rows > 0 && dims[0] != rows) {
      count = static_cast<std::uint64_t>(dims[0] / rows);
      batch[0] = rows;
      warn_split(piece.path, count);
    }
    add_pieces(piece, batch, count);
  }

  const InputSpec& spec_;
  bool several_inputs_;
  std::optional<Dims> wanted_;
  ir::DataType type_ = ir::DataType::kUndefined;
  bool warned_type_ = false;
  bool warned_split_ = false;
  std::vector<Piece> pieces_;
};

}  // namespace

std::vector<Piece> plan_pieces(const InputSpec& spec, bool several_inputs) {
  return Planner(spec, several_inputs).plan();
}

}  // namespace amct::runtime
