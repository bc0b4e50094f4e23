// Loads and saves many models in one process: reads lines "INPUT<tab>OUTPUT<tab>THRESHOLD" from
// standard input and answers each with "ok" or "error <message>".
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>

#include "amct/formats/onnx/onnx_file.h"

namespace {

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
