// Loads and saves many models in one process: reads lines "INPUT<tab>OUTPUT<tab>THRESHOLD" from
// standard input and answers each with "ok" or "error <message>". Each model also goes through the
// IR's text form and back, which must not change it.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "amct/formats/onnx/onnx_file.h"
#include "amct/ir/text.h"

namespace {

std::string bytes_of(const amct::ir::Model& model) {
  return amct::onnx::serialize(model, std::numeric_limits<std::uint64_t>::max(), {}).bytes;
}

void check_text_form(const amct::ir::Model& model) {
  const auto all = amct::ir::PrintOptions::everything();
  const std::string text = amct::ir::print(model, all);
  const amct::ir::Model parsed = amct::ir::parse_text(text, "text form");
  if (amct::ir::print(parsed, all) != text)
    throw std::runtime_error("text form is no fixed point:\n" + text);
  if (bytes_of(parsed) != bytes_of(model))
    throw std::runtime_error("text form changes the model:\n" + text);
}

void round_trip(const std::string& line) {
  std::istringstream fields(line);
  std::string input;
  std::string output;
  std::string threshold;
  std::getline(fields, input, '\t');
  std::getline(fields, output, '\t');
  std::getline(fields, threshold, '\t');
  const amct::ir::Model model = amct::onnx::load(input);
  amct::ir::verify(*model.graph);
  check_text_form(model);
  amct::onnx::SaveOptions options;
  options.external_data_threshold = std::stoull(threshold);
  amct::onnx::save(model, output, options);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      round_trip(line);
      std::cout << "ok\n";
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << '\n';
    }
  }
}
