#pragma once

namespace amct::cli {

/// Columns of the terminal behind stdout; 100 when it is none.
int terminal_width();
/// Whether stdout is a terminal that shows colours (NO_COLOR is respected).
bool terminal_has_color();

}  // namespace amct::cli
