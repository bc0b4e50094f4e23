#include "amct/passes/pipelines.h"

#include <fmt/format.h>

#include "amct/base/error.h"
#include "amct/passes/passes.h"

namespace amct::passes {
namespace {

/// Every pass, in the order in which they run.
Pipeline all_passes(const NodeNames& keep) {
  Pipeline pipeline;
  pipeline.push_back(name_nodes());
  pipeline.push_back(fold_constants());
  pipeline.push_back(eliminate_identity());
  pipeline.push_back(normalize_gemm());
  // Into the normalization first, so that Conv, BatchNormalization, Mul, Add collapse completely.
  pipeline.push_back(fuse_bn_mul(keep));
  pipeline.push_back(fuse_bn_add(keep));
  pipeline.push_back(fuse_conv_mul(keep));
  pipeline.push_back(fuse_conv_add(keep));
  pipeline.push_back(fuse_conv_bn(keep));
  pipeline.push_back(fuse_gemm_bn(keep));
  pipeline.push_back(fuse_bn_conv(keep));
  return pipeline;
}

}  // namespace

Pipeline make_prepare_pipeline(const PrepareOptions& options) {
  Pipeline pipeline = all_passes(options.skip_fusion_layers);
  if (!options.do_fusion)
    std::erase_if(pipeline, [](const auto& pass) { return pass->name().starts_with("fuse_"); });
  return pipeline;
}

PassPtr make_pass(std::string_view name, const NodeNames& keep) {
  std::string known;
  for (PassPtr& pass : all_passes(keep)) {
    if (pass->name() == name) return std::move(pass);
    known += fmt::format(" {}", pass->name());
  }
  raise(ErrorCode::kUsage, "there is no pass '{}'; the passes are:{}", name, known);
}

}  // namespace amct::passes
