#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amct/ir/graph.h"

namespace amct::passes {

/// One graph transformation. A pass either changes the model as its header says or leaves it as it
/// was.
class Pass {
 public:
  virtual ~Pass() = default;
  /// The name of the pass's file, factory, flag and test folder, e.g. "fuse_conv_bn".
  virtual std::string_view name() const = 0;
  /// Returns the number of places changed. Throws Error only for models that are invalid.
  virtual std::size_t run(ir::Model& model) = 0;
};

using Pipeline = std::vector<std::unique_ptr<Pass>>;

}  // namespace amct::passes
