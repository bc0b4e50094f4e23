#include "amct/passes/pipelines.h"

#include "amct/passes/passes.h"

namespace amct::passes {

Pipeline make_prepare_pipeline(const PrepareOptions& options) {
  Pipeline pipeline;
  pipeline.push_back(name_nodes());
  pipeline.push_back(fold_constants());
  pipeline.push_back(eliminate_identity());
  pipeline.push_back(normalize_gemm());
  if (!options.do_fusion) return pipeline;
  const NodeNames& keep = options.skip_fusion_layers;
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

}  // namespace amct::passes
