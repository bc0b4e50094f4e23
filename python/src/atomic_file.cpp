#include "amct/base/atomic_file.h"

#include <nanobind/stl/filesystem.h>

#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {

void bind_atomic_file(nb::module_& module) {
  module.def(
      "write_file",
      [](const std::filesystem::path& path, const nb::bytes& content) {
        const std::string_view bytes(static_cast<const char*>(content.data()), content.size());
        nb::gil_scoped_release release;
        write_file(path, bytes);
      },
      nb::arg("path"), nb::arg("content"),
      "Writes a whole file with mode 0640; it appears whole or not at all.");
}

}  // namespace amct::python
