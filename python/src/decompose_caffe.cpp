#include "amct/workflow/decompose_caffe.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {
namespace {

/// Ctrl-C ends the run between two layers.
void check_signals(std::size_t /*done*/, std::size_t /*all*/, const std::string& /*next*/) {
  const nb::gil_scoped_acquire hold;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void bind_decompose_caffe(nb::module_& module) {
  module.def(
      "decompose_caffe",
      [](const std::string& model_file, const std::string& weights_file,
         const std::string& new_model_file, const std::string& new_weights_file,
         const decompose::Options& options, bool dry_run) {
        return workflow::decompose_caffe(model_file, weights_file, new_model_file, new_weights_file,
                                         options, dry_run, check_signals);
      },
      nb::arg("model_file"), nb::arg("weights_file"), nb::arg("new_model_file"),
      nb::arg("new_weights_file"), nb::arg("options"), nb::arg("dry_run") = false,
      nb::call_guard<nb::gil_scoped_release>(),
      "Decomposes a Caffe network; one result per Convolution layer.");
}

}  // namespace amct::python
