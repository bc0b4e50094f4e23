#include "case_file.h"

#include <sstream>
#include <stdexcept>

#include "amct/base/atomic_file.h"
#include "amct/ir/text.h"
#include "amct/passes/pass_manager.h"
#include "amct/passes/pipelines.h"
#include "amct/passes/raise_opset.h"

namespace amct::passes {
namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

}  // namespace

CaseFile read_case(const std::filesystem::path& file) {
  std::istringstream stream(read_file(file));
  CaseFile test;
  std::string* section = nullptr;
  for (std::string line; std::getline(stream, line);) {
    if (line == "--- before")
      section = &test.before;
    else if (line == "--- after")
      section = &test.after;
    else if (section != nullptr)
      *section += line + '\n';
    else if (line.starts_with("pipeline: "))
      test.pipeline = words(line.substr(10));
    else if (line.starts_with("keep: "))
      test.keep = words(line.substr(6));
    else if (line.starts_with("numerics: "))
      test.numerics = line.substr(10);
    else
      throw std::runtime_error(file.string() + ": unknown line '" + line + "'");
  }
  if (test.pipeline.empty() || test.before.empty())
    throw std::runtime_error(file.string() + ": pipeline or model is missing");
  return test;
}

ir::Model run_case(const CaseFile& test) {
  ir::Model model = ir::parse_text(test.before, "before");
  if (test.pipeline.front() == "raise_opset") {
    const auto refused = raise_opset(model, std::stoll(test.pipeline.at(1)));
    if (!refused.empty()) throw std::runtime_error(refused.front());
    ir::verify(*model.graph);
    return model;
  }
  Pipeline pipeline;
  for (const std::string& name : test.pipeline) {
    if (name == "prepare")
      for (auto& pass : make_prepare_pipeline({true, test.keep}))
        pipeline.push_back(std::move(pass));
    else
      pipeline.push_back(make_pass(name, test.keep));
  }
  PassManager().run(model, pipeline);
  return model;
}

}  // namespace amct::passes
