#include "amct/base/error.h"

#include "python/src/bindings.h"

namespace amct::python {
namespace {

/// NotImplementedError is a RuntimeError, so a caller who only knows the manual's three kinds
/// (TypeError, ValueError, RuntimeError) catches all of them.
PyObject* exception_type(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
    case ErrorCode::kInvalidModel:
    case ErrorCode::kInvalidConfig:
    case ErrorCode::kInvalidData:
      return PyExc_ValueError;
    case ErrorCode::kUnsupported:
      return PyExc_NotImplementedError;
    case ErrorCode::kIo:
      return PyExc_OSError;
    case ErrorCode::kRuntime:
    case ErrorCode::kInternal:
      return PyExc_RuntimeError;
  }
  return PyExc_RuntimeError;
}

void translate(const std::exception_ptr& exception, void* /*payload*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    PyErr_SetString(exception_type(error.code()), error.what());
  }
}

}  // namespace

void bind_error(nanobind::module_& /*module*/) {
  nanobind::register_exception_translator(translate, nullptr);
}

}  // namespace amct::python
