// Quantizes one model with given activation factors, for tests/python/test_quant_numerics.py.
//   quantize_tool <model.onnx> <factors.txt> <prefix>
// Each line of factors.txt: layer scale offset activation_bits weight_bits channel_wise.
// Writes <prefix>_fake.onnx, _deploy.onnx and _lowered.onnx; prints a line per skipped layer.
//   quantize_tool <deploy.onnx> check
// Prints the findings of check_deploy.
//   quantize_tool <deploy.onnx> lower <lowered.onnx>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "amct/base/error.h"
#include "amct/formats/onnx/onnx_file.h"
#include "amct/passes/check_deploy.h"
#include "amct/passes/deploy.h"
#include "amct/passes/fake_quant.h"
#include "amct/passes/lower_deploy.h"
#include "amct/passes/pipelines.h"
#include "amct/passes/quantize_weights.h"

namespace {

using namespace amct;

std::vector<passes::LayerRequest> read_requests(const std::string& path) {
  std::ifstream file(path);
  std::vector<passes::LayerRequest> requests;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    passes::LayerRequest request;
    std::string scale;
    if (!(fields >> request.layer >> scale >> request.factor.offset >>
          request.activation.num_bits >> request.weight.num_bits >> request.weight.channel_wise))
      raise(ErrorCode::kUsage, "{}: cannot read the line '{}'", path, line);
    request.factor.scale = std::stof(scale);
    requests.push_back(std::move(request));
  }
  return requests;
}

void lower(const std::string& path, const std::string& target) {
  ir::Model model = onnx::load(path);
  passes::lower_deploy(model);
  ir::verify(*model.graph);
  onnx::save(model, target);
}

void quantize(const std::string& path, const std::string& factors, const std::string& prefix) {
  ir::Model model = onnx::load(path);
  for (const auto& pass : passes::make_prepare_pipeline({})) pass->run(model);
  const passes::QuantPlan plan = passes::make_plan(model, read_requests(factors));
  for (const passes::SkippedLayer& skipped : plan.skipped)
    std::printf("skipped %s: %s\n", skipped.layer.c_str(), skipped.reason.c_str());
  ir::Model fake = model.clone();
  passes::insert_fake_quant(fake, plan);
  ir::verify(*fake.graph);
  onnx::save(fake, prefix + "_fake.onnx");
  passes::insert_deploy(model, plan);
  ir::verify(*model.graph);
  onnx::save(model, prefix + "_deploy.onnx");
  lower(prefix + "_deploy.onnx", prefix + "_lowered.onnx");
}

void check(const std::string& path) {
  for (const passes::Finding& finding : passes::check_deploy(onnx::load(path)))
    std::printf("%s %s: %s\n", finding.severity == passes::Severity::kError ? "error" : "warning",
                finding.node.c_str(), finding.message.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string(argv[2]) == "check") {
      check(argv[1]);
    } else if (argc == 4 && std::string(argv[2]) == "lower") {
      lower(argv[1], argv[3]);
    } else if (argc == 4) {
      quantize(argv[1], argv[2], argv[3]);
    } else {
      std::fprintf(stderr,
                   "usage: quantize_tool <model> (<factors> <prefix> | check | lower <file>)\n");
      return 2;
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
