#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
class Validator;
}  // namespace CLI

namespace amct::cli {

/// --help and --h in the app and all its subcommands.
void use_documented_help(CLI::App& app);

/// Throws Error(kUsage) for "--param= value", where the shell has cut the value off.
void check_empty_values(const std::vector<std::string>& arguments);

/// Accepts decimal whole numbers of a range.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

/// One line that says what is wrong and where help is; names the nearest option for a misspelt one.
std::string explain(const CLI::ParseError& error, const CLI::App& app,
                    const std::vector<std::string>& arguments);

}  // namespace amct::cli
