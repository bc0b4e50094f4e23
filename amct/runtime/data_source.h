#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amct/runtime/executor.h"

namespace amct::runtime {

/// Batches of model inputs, read when they are asked for.
class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual std::size_t batches() const = 0;
  /// Batch i < batches(), one tensor per model input. Throws Error(kInvalidData | kIo).
  virtual Feed batch(std::size_t i) = 0;
};

/// How the data lie on disk, as the command line says it (spec onnx_and_cli 21.3, 21.4).
struct DataOptions {
  /// One folder or file per input, separated by ';', in the order of the inputs. Files are .bin
  /// (raw little-endian row-major), .npy or .npz. A single .npz source serves all inputs by name.
  std::string data_dir{};
  /// "a:1,3,224,224;b:?,10"; '?' or -1 in the first place is found from the size of each file.
  /// Empty: the model's shapes (.bin then needs all dims but the first fixed).
  std::string input_shape{};
  /// "float32;int64", or one for all inputs. Empty: the model's types.
  std::string data_types{};
};

/// Checks everything that needs no more than names, sizes and headers of the files (all of them,
/// up front), then hands out batches in ascending order of file names. Throws Error(kInvalidData)
/// that says what was found and what is wanted; also when there are fewer than `wanted_batches`.
std::unique_ptr<DataSource> open_data(const DataOptions& options,
                                      const std::vector<PortInfo>& inputs,
                                      std::size_t wanted_batches);

/// Batches that are already in memory.
std::unique_ptr<DataSource> make_memory_source(std::vector<Feed> batches);

/// `batch_num`, or all batches when it is 0. Throws Error(kInvalidData) when there are fewer, or
/// none.
std::size_t batches_to_run(const DataSource& data, std::size_t batch_num);

/// Inputs of the model as `open_data` wants them, without an engine. Constants that are also graph
/// inputs are left out.
std::vector<PortInfo> model_inputs(const ir::Model& model);

/// The shapes of an input_shape option in the order of the inputs; -1 for a dim found from the
/// file. Empty entries for inputs that the text does not name. Throws Error(kUsage).
std::vector<std::optional<std::vector<std::int64_t>>> parse_input_shape(
    const std::string& text, const std::vector<PortInfo>& inputs);

}  // namespace amct::runtime
