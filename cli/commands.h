#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace amct::cli {

/// What a subcommand does once its options are read.
using Action = std::function<void()>;

/// Each adds one subcommand with its options to `parent`; parsing it sets `action`.
void add_calibration(CLI::App& parent, Action& action);
void add_convert(CLI::App& parent, Action& action);
void add_check(CLI::App& parent, Action& action);
void add_run(CLI::App& parent, Action& action);
void add_diff(CLI::App& parent, Action& action);
/// `only`: the ending of the models that it takes; empty: all that it knows.
void add_decompose(CLI::App& parent, Action& action, const std::string& only = {});

}  // namespace amct::cli
