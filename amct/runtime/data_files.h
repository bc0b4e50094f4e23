#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "amct/runtime/data_spec.h"
#include "amct/runtime/npy.h"

namespace amct::runtime {

enum class FileKind { kBin, kNpy, kNpz };

/// One batch of one input: a run of whole rows of a file. Private to this folder.
struct Piece {
  std::filesystem::path path;
  FileKind kind = FileKind::kBin;
  /// Member of a .npz file, with its suffix.
  std::string member;
  /// Layout of the array that the batch is a part of; dims as the file says.
  NpyHeader array;
  /// Dims of the batch and its first byte among the array's elements.
  std::vector<std::int64_t> dims;
  std::uint64_t first_byte = 0;
};

/// Finds the files of one input, checks sizes and headers of all, and lists their batches in
/// ascending (byte) order of names. Throws Error(kInvalidData) that names the file.
std::vector<Piece> plan_pieces(const InputSpec& spec, bool several_inputs);

/// Whether elements of one type may be turned into another: float64 and float16 to float32, float
/// types to float64, integers to integers (checked value by value when converting).
bool convertible(ir::DataType from, ir::DataType to);
/// Throws Error(kInvalidData), with `name` in the message, when a value does not fit.
ir::Tensor convert(const ir::Tensor& tensor, ir::DataType to, const std::string& name);

}  // namespace amct::runtime
