#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "amct/base/mapped_file.h"
#include "amct/formats/onnx/schema.h"
#include "amct/ir/tensor.h"

namespace amct::onnx {

/// Opens the external data files of one model, each once, and checks that they lie in its folder.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Bytes that `message` (data_location external) points to; `owner` keeps them alive. Throws
  /// Error(kInvalidModel | kIo) on a path outside the folder, a missing file, a range outside it.
  std::span<const std::byte> bytes_of(const schema::Tensor& message,
                                      std::shared_ptr<const void>& owner);

 private:
  std::shared_ptr<const MappedFile> open(const std::string& location);

  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

/// Whether the IR has this element type; tensors of other types are kept as bytes.
bool is_known_type(std::int32_t data_type);

/// Takes type, dims and data out of `message`, which keeps what the IR does not model (its name
/// included). `what` names the tensor in messages. Throws Error(kInvalidModel) when the data do not
/// fit type and dims, whatever memory the dims ask for.
ir::Tensor take_tensor(schema::Tensor& message, ExternalFiles& files, const std::string& what);

/// Replaces external data by raw data, for tensors that are kept as bytes.
void inline_external(schema::Tensor& message, ExternalFiles& files);

/// Sets type, dims and, when `with_data`, the data (raw form; strings as strings).
void put_tensor(const ir::Tensor& tensor, bool with_data, schema::Tensor& message);

/// Points `message` to `length` bytes at `offset` of another file.
void put_external(std::string_view location, std::uint64_t offset, std::uint64_t length,
                  schema::Tensor& message);

/// A tensor's bytes as protobuf wants them.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace amct::onnx
