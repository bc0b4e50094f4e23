#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "amct/workflow/decompose_tensorflow.h"
#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {

void bind_decompose_tensorflow(nb::module_& module) {
  module.def(
      "decompose_tensorflow",
      [](const std::string& meta_path, const std::string& ckpt_path, const std::string& save_path) {
        return workflow::decompose_tensorflow(meta_path, ckpt_path, save_path).new_convolutions;
      },
      nb::arg("meta_path"), nb::arg("ckpt_path"), nb::arg("save_path"),
      nb::call_guard<nb::gil_scoped_release>(),
      "Decomposes a saved TensorFlow model; returns the names of the new convolutions.");
}

}  // namespace amct::python
