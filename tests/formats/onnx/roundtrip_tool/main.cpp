// Runs many models through the reader and the writer in one process. Reads lines
// "MODE<tab>INPUT<tab>OUTPUT<tab>BYTES" from standard input and answers each with "ok" or
// "error <message>". Modes:
//   load       read and verify
//   save       read, write to OUTPUT, external data above BYTES in all
//   text       the same, and the text form must give the model back
//   serialize  read, write serialize()'s bytes with constants above BYTES external ("memory")
#include <cstdint>
#include <exception>
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
    throw std::runtime_error("the text form is no fixed point");
  if (bytes_of(parsed) != bytes_of(model))
    throw std::runtime_error("the text form changes the model");
}

void run(const std::string& line) {
  std::istringstream fields(line);
  std::string mode;
  std::string input;
  std::string output;
  std::string bytes;
  std::getline(fields, mode, '\t');
  std::getline(fields, input, '\t');
  std::getline(fields, output, '\t');
  std::getline(fields, bytes, '\t');
  const amct::ir::Model model = amct::onnx::load(input);
  amct::ir::verify(*model.graph);
  if (mode == "load") return;
  if (mode == "serialize") {
    amct::write_file(output, amct::onnx::serialize(model, std::stoull(bytes), "memory").bytes);
    return;
  }
  if (mode == "text") check_text_form(model);
  amct::onnx::SaveOptions options;
  options.external_data_threshold = std::stoull(bytes);
  amct::onnx::save(model, output, options);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      run(line);
      std::cout << "ok" << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
}
