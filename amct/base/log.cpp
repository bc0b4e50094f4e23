#include "amct/base/log.h"

#include <mutex>

namespace amct {
namespace {

struct Sink {
  std::mutex mutex;
  LogSink function;
};

Sink& sink() {
  static Sink instance;
  return instance;
}

}  // namespace

void set_log_sink(LogSink function) {
  std::lock_guard lock(sink().mutex);
  sink().function = std::move(function);
}

void log_line(LogLevel level, std::string_view line) {
  std::lock_guard lock(sink().mutex);
  if (sink().function) sink().function(level, line);
}

}  // namespace amct
