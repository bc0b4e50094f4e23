#include "cli/terminal_size.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace amct::cli {

int terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

bool terminal_has_color() {
  return ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace amct::cli
