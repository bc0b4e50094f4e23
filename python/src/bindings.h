#pragma once

#include <nanobind/nanobind.h>

namespace amct::python {

/// One function per public header of the library; module.cpp calls them all.
void bind_atomic_file(nanobind::module_& module);
void bind_auto_calibration(nanobind::module_& module);
void bind_decompose(nanobind::module_& module);
void bind_decompose_caffe(nanobind::module_& module);
void bind_error(nanobind::module_& module);
void bind_input_moments(nanobind::module_& module);
void bind_log(nanobind::module_& module);
void bind_decompose_tensorflow(nanobind::module_& module);
void bind_quantize_steps(nanobind::module_& module);

}  // namespace amct::python
