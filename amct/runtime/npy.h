#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "amct/ir/tensor.h"

namespace amct::runtime {

/// What the header of a NumPy .npy file says (NEP 1, format versions 1 to 3).
struct NpyHeader {
  ir::DataType type = ir::DataType::kUndefined;
  std::vector<std::int64_t> dims;
  bool fortran_order = false;
  bool big_endian = false;
  /// Offset of the first element.
  std::size_t data_offset = 0;

  /// Bytes of the elements.
  std::uint64_t data_bytes() const;
};

/// At most this many bytes from the start of a file are needed to read its header.
constexpr std::size_t kMaxNpyHeader = std::size_t{64} << 10;

/// Reads a header from the first bytes of a file; `name` stands for the file in messages. Throws
/// Error(kInvalidData) for anything that is not an array of a plain numeric type.
NpyHeader parse_npy_header(std::span<const std::byte> start, std::string_view name);

/// The array as a row-major little-endian tensor that keeps `bytes`' owner, or a fresh one when
/// order or endianness have to change. `data` holds exactly header.data_bytes() bytes.
ir::Tensor npy_tensor(const NpyHeader& header, std::shared_ptr<const void> owner,
                      std::span<const std::byte> data);

/// Reads a whole .npy image from memory; used by tests and the fuzzer too.
ir::Tensor parse_npy(std::span<const std::byte> bytes, std::string_view name);

/// Writes a .npy file atomically. bfloat16 is written as float32; throws Error(kUnsupported) for
/// types that NumPy does not have.
void write_npy(const std::filesystem::path& path, const ir::Tensor& tensor);

}  // namespace amct::runtime
