#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "amct/formats/onnx/graph_writer.h"
#include "amct/ir/graph.h"

namespace amct::onnx {

/// A model file as pieces: small serialized messages, and the initializers' data where they lie.
/// Valid as long as the model is not changed.
class ModelPieces {
 public:
  /// Tensors that `plan` wants elsewhere get their places in it. Throws Error(kInternal).
  ModelPieces(const ir::Model& model, ExternalPlan& plan);

  std::uint64_t size() const;
  /// Throws Error(kUnsupported) when the file would break protobuf's limit of 2 GB.
  void check_size() const;
  void write(const std::function<void(std::string_view)>& sink) const;

 private:
  std::string head_;
  std::string graph_;
  std::vector<StreamedInitializer> initializers_;
  std::uint64_t graph_size_ = 0;
};

}  // namespace amct::onnx
