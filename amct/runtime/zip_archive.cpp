#include "amct/runtime/zip_archive.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "amct/base/error.h"

namespace amct::runtime {
namespace {

// Layouts: PKWARE APPNOTE 4.3 and 4.5.3.
constexpr std::uint32_t kLocalHeader = 0x04034B50;
constexpr std::uint32_t kCentralHeader = 0x02014B50;
constexpr std::uint32_t kEnd = 0x06054B50;
constexpr std::uint32_t kEnd64 = 0x06064B50;
constexpr std::uint32_t kEnd64Locator = 0x07064B50;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kCentralBytes = 46;
constexpr std::uint64_t kMaxDirectory = std::uint64_t{64} << 20;
/// Deflate packs at most 1032 bytes into one.
constexpr std::uint64_t kMaxRatio = 1032;

template <typename T>
T get(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.subspan(offset, sizeof(T)).data(), sizeof(T));
  return value;
}

std::uint64_t get64_or(std::span<const std::byte>& extra, std::uint32_t small) {
  if (small != kIn64 || extra.size() < 8) return small;
  const auto value = get<std::uint64_t>(extra, 0);
  extra = extra.subspan(8);
  return value;
}

/// The payload of the ZIP64 extra field (id 1); empty when there is none.
std::span<const std::byte> zip64_field(std::span<const std::byte> extra) {
  while (extra.size() >= 4) {
    const auto id = get<std::uint16_t>(extra, 0);
    const std::size_t bytes = std::min<std::size_t>(get<std::uint16_t>(extra, 2), extra.size() - 4);
    if (id == 1) return extra.subspan(4, bytes);
    extra = extra.subspan(4 + bytes);
  }
  return {};
}

}  // namespace

void ZipArchive::refuse(const std::string& why) const {
  raise(ErrorCode::kInvalidData, "'{}' is not a readable .npz file: {}", file_.path().string(),
        why);
}

ZipArchive::ZipArchive(const std::filesystem::path& path) : file_(path) {
  read_directory(find_directory());
}

ZipArchive::Directory ZipArchive::find_directory() const {
  if (file_.size() < kEndBytes) refuse("it is too short");
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(file_.size(), kEndBytes + 0xFFFF);
  const std::uint64_t tail_offset = file_.size() - tail_bytes;
  const auto tail = file_.read(tail_offset, tail_bytes);
  const std::span<const std::byte> bytes = *tail;
  std::size_t end = bytes.size() - kEndBytes;
  while (get<std::uint32_t>(bytes, end) != kEnd) {
    if (end == 0) refuse("it has no ZIP directory (cut off?)");
    --end;
  }
  Directory directory{get<std::uint32_t>(bytes, end + 16), get<std::uint32_t>(bytes, end + 12),
                      get<std::uint16_t>(bytes, end + 10)};
  if (end >= 20 && get<std::uint32_t>(bytes, end - 20) == kEnd64Locator) {
    const auto record = file_.read(get<std::uint64_t>(bytes, end - 12), 56);
    if (get<std::uint32_t>(*record, 0) != kEnd64) refuse("its ZIP64 directory is damaged");
    directory = {get<std::uint64_t>(*record, 48), get<std::uint64_t>(*record, 40),
                 get<std::uint64_t>(*record, 32)};
  }
  if (directory.offset > file_.size() || directory.bytes > file_.size() - directory.offset)
    refuse("its directory lies outside the file");
  if (directory.bytes > kMaxDirectory) refuse("its directory is larger than 64 MiB");
  return directory;
}

void ZipArchive::read_directory(const Directory& directory) {
  const auto buffer = file_.read(directory.offset, directory.bytes);
  std::span<const std::byte> rest = *buffer;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (rest.size() < kCentralBytes || get<std::uint32_t>(rest, 0) != kCentralHeader)
      refuse("its directory is damaged");
    const std::size_t name_bytes = get<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = get<std::uint16_t>(rest, 30);
    const std::size_t comment_bytes = get<std::uint16_t>(rest, 32);
    if (rest.size() - kCentralBytes < name_bytes + extra_bytes + comment_bytes)
      refuse("its directory is cut off");
    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char*>(rest.data()) + kCentralBytes, name_bytes);
    if ((get<std::uint16_t>(rest, 8) & 1U) != 0) refuse("'" + entry.name + "' in it is encrypted");
    entry.method = get<std::uint16_t>(rest, 10);
    entry.crc = get<std::uint32_t>(rest, 16);
    auto wide = zip64_field(rest.subspan(kCentralBytes + name_bytes, extra_bytes));
    entry.bytes = get64_or(wide, get<std::uint32_t>(rest, 24));
    entry.packed_bytes = get64_or(wide, get<std::uint32_t>(rest, 20));
    entry.header_offset = get64_or(wide, get<std::uint32_t>(rest, 42));
    if (entry.method != 0 && entry.method != 8)
      refuse(fmt::format("'{}' in it is packed by method {}", entry.name, entry.method));
    if (entry.packed_bytes > file_.size() || entry.bytes / kMaxRatio > entry.packed_bytes + 1 ||
        (entry.method == 0 && entry.bytes != entry.packed_bytes))
      refuse("'" + entry.name + "' in it has an impossible size");
    entries_.push_back(std::move(entry));
    rest = rest.subspan(kCentralBytes + name_bytes + extra_bytes + comment_bytes);
  }
}

std::uint64_t ZipArchive::data_offset(const ZipEntry& entry) const {
  constexpr std::uint64_t kLocalBytes = 30;
  const auto local = file_.read(entry.header_offset, kLocalBytes);
  if (get<std::uint32_t>(*local, 0) != kLocalHeader)
    refuse("'" + entry.name + "' in it is damaged");
  return entry.header_offset + kLocalBytes + get<std::uint16_t>(*local, 26) +
         get<std::uint16_t>(*local, 28);
}

std::shared_ptr<std::vector<std::byte>> ZipArchive::read(const ZipEntry& entry,
                                                         std::uint64_t limit) const {
  const std::uint64_t wanted = std::min(limit, entry.bytes);
  const std::uint64_t offset = data_offset(entry);
  std::shared_ptr<std::vector<std::byte>> out;
  if (entry.method == 0) {
    out = file_.read(offset, wanted);
  } else {
    // The start of a member never needs much more than its own size, packed badly.
    const auto packed =
        file_.read(offset, wanted < entry.bytes ? std::min(entry.packed_bytes, 2 * wanted + 0xFFFF)
                                                : entry.packed_bytes);
    out = std::make_shared<std::vector<std::byte>>(wanted);
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) refuse("zlib cannot start");
    std::size_t fed = 0, made = 0;
    int status = Z_OK;
    constexpr std::size_t kPiece = std::numeric_limits<uInt>::max() / 2;
    while (made < wanted && (status == Z_OK || status == Z_BUF_ERROR)) {
      const std::size_t in = std::min(kPiece, packed->size() - fed);
      const std::size_t room = std::min<std::size_t>(kPiece, wanted - made);
      stream.next_in = reinterpret_cast<Bytef*>(packed->data() + fed);
      stream.avail_in = static_cast<uInt>(in);
      stream.next_out = reinterpret_cast<Bytef*>(out->data() + made);
      stream.avail_out = static_cast<uInt>(room);
      status = ::inflate(&stream, Z_NO_FLUSH);
      const std::size_t took = in - stream.avail_in, gave = room - stream.avail_out;
      if (took == 0 && gave == 0) break;
      fed += took;
      made += gave;
    }
    ::inflateEnd(&stream);
    if (made < wanted) refuse("'" + entry.name + "' in it is damaged or cut off");
  }
  if (wanted == entry.bytes &&
      ::crc32_z(0, reinterpret_cast<const Bytef*>(out->data()), out->size()) != entry.crc)
    refuse("'" + entry.name + "' in it does not match its checksum");
  return out;
}

}  // namespace amct::runtime
