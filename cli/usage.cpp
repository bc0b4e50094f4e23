#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <numeric>

#include "amct/base/error.h"

namespace amct::cli {
namespace {

std::size_t edit_distance(const std::string& left, const std::string& right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row.back();
}

/// The innermost subcommand that was called.
const CLI::App& called(const CLI::App& app) {
  const CLI::App* inner = &app;
  while (!inner->get_subcommands().empty()) inner = inner->get_subcommands().front();
  return *inner;
}

std::string nearest_option(const CLI::App& app, const std::string& wanted) {
  std::string best;
  std::size_t best_distance = 4;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t distance = edit_distance("--" + name, wanted);
      if (distance >= best_distance) continue;
      best_distance = distance;
      best = "--" + name;
    }
  }
  return best;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() != nullptr ? full_name(*app.get_parent()) + " " + app.get_name()
                                     : app.get_name();
}

/// The word where a subcommand of `inner` should stand, when it is none; else empty.
std::string unknown_command(const CLI::App& inner, const std::vector<std::string>& arguments) {
  if (inner.get_subcommands([](const CLI::App*) { return true; }).empty()) return {};
  std::size_t depth = 0;
  for (const CLI::App* app = &inner; app->get_parent() != nullptr; app = app->get_parent()) ++depth;
  return depth < arguments.size() && !arguments[depth].starts_with("-") ? arguments[depth] : "";
}

}  // namespace

void use_documented_help(CLI::App& app) {
  app.set_help_flag("--help,--h,-h", "Show this help and end");
  for (CLI::App* inner : app.get_subcommands({})) use_documented_help(*inner);
}

void check_empty_values(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!argument.starts_with("--") || !argument.ends_with("=")) continue;
    const bool value_follows = i + 1 < arguments.size() && !arguments[i + 1].starts_with("-");
    raise(ErrorCode::kUsage, "{} has no value{}", argument,
          value_follows
              ? fmt::format("; write {}{} without a space after '='", argument, arguments[i + 1])
              : "");
  }
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) -> std::string {
        std::uint64_t number = 0;
        const char* const stop = text.data() + text.size();
        const auto [end, failure] = std::from_chars(text.data(), stop, number);
        if (failure == std::errc() && end == stop && number >= least && number <= most) return {};
        return fmt::format("found '{}', expected a whole number from {} to {}", text, least, most);
      },
      least > 0 ? "POSITIVE" : "NONNEGATIVE");
}

std::string explain(const CLI::ParseError& error, const CLI::App& app,
                    const std::vector<std::string>& arguments) {
  const CLI::App& inner = called(app);
  std::string message = error.what();
  std::ranges::replace(message, '\n', ' ');
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    for (const std::string& argument : arguments) {
      const std::string name = argument.substr(0, argument.find('='));
      if (!name.starts_with("--")) continue;
      if (inner.get_option_no_throw(name) != nullptr) continue;
      const std::string nearest = nearest_option(inner, name);
      message = fmt::format("unknown option {}{}", name,
                            nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
      break;
    }
  }
  const std::string command = unknown_command(inner, arguments);
  if (!command.empty()) message = fmt::format("unknown command '{}'", command);
  return fmt::format("{} (see {} --help)", message, full_name(inner));
}

}  // namespace amct::cli
