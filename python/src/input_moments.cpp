#include "amct/decompose/input_moments.h"

#include <nanobind/ndarray.h>

#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {

void bind_input_moments(nb::module_& module) {
  using decompose::InputMoments;
  using Activations = nb::ndarray<const float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
  nb::class_<InputMoments>(module, "InputMoments",
                           "Second moments of what the first of two convolutions reads.")
      .def(nb::init<const decompose::ConvShape&, decompose::Mode>(), nb::arg("shape"),
           nb::arg("mode"))
      .def(
          "add",
          [](InputMoments& self, const Activations& activations) {
            if (static_cast<std::int64_t>(activations.shape(1)) != self.channels())
              throw nb::value_error("activations have another number of channels than the layer");
            nb::gil_scoped_release release;
            self.add({activations.data(), activations.size()},
                     static_cast<std::int64_t>(activations.shape(0)),
                     static_cast<std::int64_t>(activations.shape(2)),
                     static_cast<std::int64_t>(activations.shape(3)), {});
          },
          nb::arg("activations"), "Takes [images, channels, height, width] with padding applied.")
      .def_prop_ro("count", &InputMoments::count, "Places seen so far.");
}

}  // namespace amct::python
