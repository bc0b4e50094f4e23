#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "amct/runtime/data_source.h"

namespace amct::runtime {

/// One model input and what the options say about its data. Private to this folder.
struct InputSpec {
  PortInfo port;
  /// From --input_shape; -1 in the first place: found from the file.
  std::optional<std::vector<std::int64_t>> dims;
  /// From --data_types.
  std::optional<ir::DataType> type;
  /// Folder or file.
  std::filesystem::path source;
};

/// Splits the options over the inputs. With one source for several inputs (.npz) every spec names
/// it. Throws Error(kUsage) for options that contradict themselves or the model.
std::vector<InputSpec> parse_data_options(const DataOptions& options,
                                          const std::vector<PortInfo>& inputs);

/// "[1,3,?]" with -1 as "?".
std::string describe_dims(const std::vector<std::int64_t>& dims);

}  // namespace amct::runtime
