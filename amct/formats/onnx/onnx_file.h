#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "amct/base/atomic_file.h"
#include "amct/ir/graph.h"

namespace amct::onnx {

/// Reads an ONNX file. External data are read relative to the file's folder. Throws
/// Error(kIo | kInvalidModel) that names the file and what is wrong with it.
ir::Model load(const std::filesystem::path& path);

/// Parses a model from memory; `name` stands for the file in messages, `folder` holds external
/// data.
ir::Model parse(std::string_view bytes, std::string_view name,
                const std::filesystem::path& folder = {});

struct SaveOptions {
  /// Models whose serialized size is above this go to external data (spec 15.3, 2 GB).
  std::uint64_t external_data_threshold = std::uint64_t{2000} << 20;
  /// Name of the external data file, beside the model; default "<model file name>.data".
  std::string external_data_name;
};

/// Writes an ONNX file (and its external data) atomically.
void save(const ir::Model& model, const std::filesystem::path& path,
          const SaveOptions& options = {});

/// The files of save(), written but not yet visible: commit() them together with other results.
std::vector<AtomicFile> stage(const ir::Model& model, const std::filesystem::path& path,
                              const SaveOptions& options = {});

/// Serialized model. Constants for which `external` returns true keep only their declaration, with
/// the external-data key `location` set to `external_location` (for engines that are handed the
/// data).
struct Serialized {
  std::string bytes;
  std::vector<const ir::Value*> external;
};
Serialized serialize(const ir::Model& model, std::uint64_t external_above_bytes,
                     std::string_view external_location);

/// Newest opset and IR version that this code was written for.
constexpr std::int64_t kNewestOpset = 26;

}  // namespace amct::onnx
