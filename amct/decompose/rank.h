#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "amct/decompose/conv_shape.h"

namespace amct::decompose {

/// Sides of the unfolded kernel: `rows` is the full rank, rows <= columns.
struct Unfolded {
  std::int64_t rows = 0;     // min(kh, kw) * min(cin, cout)
  std::int64_t columns = 0;  // max(kh, kw) * max(cin, cout)
};
Unfolded unfolded_size(const ConvShape& shape);

/// Number of components that stand out of the noise: the global analytic solution of empirical
/// variational Bayes matrix factorisation (Nakajima, Sugiyama, Babacan, Tomioka, JMLR 14, 2013),
/// noise variance found by Brent's method. Independent of the scale of the matrix.
/// `squares`: all squared singular values, descending, finite; size.rows of them.
std::int64_t evbmf_rank(std::span<const double> squares, Unfolded size);

/// The ranks between which the documented limits keep a layer, before rounding.
struct RankLimits {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
RankLimits rank_limits(const ConvShape& shape);

/// Limits and rounding to a multiple of 16 for an estimate of the rank; at most the full rank.
std::int64_t finish_rank(std::int64_t estimate, const ConvShape& shape);

/// Rank for all singular values of a layer, in any order. Throws Error(kInvalidData) when there are
/// not as many as the shape has, or one is negative, NaN or infinite.
std::int64_t choose_rank(std::span<const double> singular_values, const ConvShape& shape);

}  // namespace amct::decompose
