#include "python/src/bindings.h"

NB_MODULE(_native, module) {
  module.doc() = "The C++ core of AMCT, as the packages amct_* use it.";
  module.attr("__version__") = AMCT_VERSION;
  amct::python::bind_error(module);
  amct::python::bind_log(module);
  amct::python::bind_atomic_file(module);
  amct::python::bind_auto_calibration(module);
  amct::python::bind_decompose(module);
  amct::python::bind_decompose_caffe(module);
  amct::python::bind_decompose_tensorflow(module);
  amct::python::bind_input_moments(module);
  amct::python::bind_quantize_steps(module);
}
