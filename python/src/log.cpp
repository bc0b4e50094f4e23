#include "amct/base/log.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <memory>
#include <optional>

#include "python/src/bindings.h"

namespace nb = nanobind;

namespace amct::python {
namespace {

/// The numbers of Python's logging module.
int to_python(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return 10;
    case LogLevel::kInfo:
      return 20;
    case LogLevel::kWarning:
      return 30;
    case LogLevel::kError:
      return 40;
  }
  return 20;
}

LogLevel from_python(int level) {
  if (level < 20) return LogLevel::kDebug;
  if (level < 30) return LogLevel::kInfo;
  return level < 40 ? LogLevel::kWarning : LogLevel::kError;
}

/// Owned by the sink, which any thread may call or drop.
std::shared_ptr<nb::object> shared(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* owned) {
            nb::gil_scoped_acquire hold;
            delete owned;
          }};
}

void use_sink(std::optional<nb::object> function) {
  LogSink sink;
  if (function) {
    sink = [python = shared(std::move(*function))](LogLevel level, std::string_view line) {
      nb::gil_scoped_acquire hold;
      try {
        (*python)(to_python(level), line);
      } catch (nb::python_error& error) {
        error.discard_as_unraisable("AMCT's log sink");
      }
    };
  }
  nb::gil_scoped_release release;  // a thread that is writing a line waits for the GIL
  set_log_sink(std::move(sink));
}

}  // namespace

void bind_log(nb::module_& module) {
  module.def("set_log_sink", use_sink, nb::arg("sink").none(),
             "Hands every log line of the core to sink(level, line), with the levels of Python's "
             "logging module; None drops them.");
  module.def(
      "log_line", [](int level, std::string_view line) { log_line(from_python(level), line); },
      nb::arg("level"), nb::arg("line"), nb::call_guard<nb::gil_scoped_release>(),
      "Hands one line to the sink.");
}

}  // namespace amct::python
