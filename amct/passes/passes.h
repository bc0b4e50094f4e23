#pragma once

#include <memory>
#include <string>
#include <vector>

#include "amct/passes/pass.h"

namespace amct::passes {

using PassPtr = std::unique_ptr<Pass>;
/// Names of nodes that a fusion must leave as they are.
using NodeNames = std::vector<std::string>;

/// Gives every node of the model, subgraphs included, a unique name that is not empty: nameless
/// nodes become "{op_type}_{index}" (index: position in the model), a repeated name gets a numeric
/// suffix and its first owner keeps it.
PassPtr name_nodes();

/// Computes chains of constants that lead to weights once: Constant, Identity, Cast, Transpose,
/// Reshape, Squeeze, Unsqueeze, Flatten, Mul and Div. Nothing that makes a constant larger than its
/// inputs (but for a wider element type) is folded, and all folded constants together stay below
/// four times the model's own constants plus 256 MB.
PassPtr fold_constants();

/// Removes Identity and Dropout in inference form. Names of graph inputs and outputs never change;
/// a node that leads straight from an input or a constant to a graph output stays.
PassPtr eliminate_identity();

/// Gemm with constant weight: alpha goes into the weight, beta into the constant C, transB = 1
/// becomes a weight that is stored transposed, and a C that is the same for all rows becomes [N].
PassPtr normalize_gemm();

/// BatchNormalization, then Mul by a constant per channel: one BatchNormalization.
PassPtr fuse_bn_mul(NodeNames keep);
/// BatchNormalization, then Add of a constant per channel: one BatchNormalization.
PassPtr fuse_bn_add(NodeNames keep);
/// Conv or ConvTranspose, then BatchNormalization: one convolution.
PassPtr fuse_conv_bn(NodeNames keep);
/// Gemm, or MatMul of a matrix and a constant, then BatchNormalization: Gemm, or MatMul and Add.
PassPtr fuse_gemm_bn(NodeNames keep);
/// BatchNormalization, then a Conv without padding, a Gemm, or a MatMul of a matrix and a constant.
PassPtr fuse_bn_conv(NodeNames keep);
/// Conv or ConvTranspose, then Mul by a constant per channel. (Gemm and MatMul have one weight
/// scale for all channels: folding different factors into them would cost accuracy.)
PassPtr fuse_conv_mul(NodeNames keep);
/// Conv, ConvTranspose or Gemm, then Add of a constant per channel, which becomes its bias.
PassPtr fuse_conv_add(NodeNames keep);

}  // namespace amct::passes
