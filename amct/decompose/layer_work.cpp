#include "amct/decompose/layer_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "amct/base/error.h"
#include "amct/decompose/data_fit.h"
#include "amct/decompose/leading_part.h"
#include "amct/decompose/rank.h"
#include "amct/decompose/subspace.h"
#include "amct/decompose/unfold.h"

namespace amct::decompose {
namespace {

// The kernel as a matrix; an empty matrix when all of it is zero. Frees the kernel.
template <typename T>
UnfoldedKernel<T> unfolded(const Layer& layer, Mode mode, std::vector<T> kernel, Workers workers) {
  const std::int64_t wanted = unfolded_size(layer.shape).rows * unfolded_size(layer.shape).columns;
  if (static_cast<std::int64_t>(kernel.size()) != wanted) {
    raise(
        ErrorCode::kInvalidModel,
        "layer '{}': its kernel has {} values, its shape [{}, {}, {}, {}] needs {}; the model file "
        "is damaged",
        layer.name, kernel.size(), layer.shape.out_channels, layer.shape.in_channels,
        layer.shape.kernel_h, layer.shape.kernel_w, wanted);
  }
  const T largest = largest_magnitude(std::span<const T>(kernel), workers);
  if (!std::isfinite(largest)) {
    raise(ErrorCode::kInvalidModel,
          "layer '{}': its kernel holds NaN or infinity and cannot be decomposed; mend the weights "
          "or leave the layer out",
          layer.name);
  }
  if (largest == 0) return {};
  return unfold(std::span<const T>(kernel), largest, layer.shape, mode, workers);
}

std::int64_t energy_rank(std::span<const double> squares, double norm_squared, double share) {
  double kept = 0;
  std::int64_t rank = 0;
  // A share of 1 asks for everything but rounding noise.
  const double wanted = std::min(share, 1 - 1e-14) * norm_squared;
  while (rank < std::ssize(squares) && (rank == 0 || kept < wanted)) {
    kept += squares[static_cast<std::size_t>(rank++)];
  }
  return rank;
}

// The rank that a rule gives without looking at the kernel.
std::optional<std::int64_t> fixed_rank(const LayerTask& task, std::int64_t full) {
  const double rows = static_cast<double>(full);
  if (task.rule == RankRule::kRank) {
    return static_cast<std::int64_t>(std::clamp(task.value, 1.0, rows));
  }
  if (task.rule == RankRule::kRatio) {
    return static_cast<std::int64_t>(std::clamp(std::round(task.value * rows), 1.0, rows));
  }
  return std::nullopt;
}

template <typename T>
struct Ranked {
  std::int64_t rank = 0;
  LeadingPart<T> part;
};

template <typename T>
std::optional<Subspace<T>> try_subspace(const UnfoldedKernel<T>& kernel, std::int64_t k,
                                        Workers workers) {
  const Matrix<T>& m = kernel.matrix;
  if (!prefers_subspace(m.rows, m.columns, k)) return std::nullopt;
  return iterate_subspace(m, kernel.norm_squared, k, workers);
}

// EVBMF from a subspace that holds the lowest rank that the limits allow, and from a wider one when
// more is called for. None when the estimates do not decide.
template <typename T>
std::optional<Ranked<T>> evbmf_by_subspace(const ConvShape& shape, const UnfoldedKernel<T>& kernel,
                                           Workers workers) {
  const std::int64_t lowest = finish_rank(0, shape);
  const std::int64_t highest = finish_rank(unfolded_size(shape).rows, shape);
  for (const std::int64_t k : {lowest, highest}) {
    std::optional<Subspace<T>> found = try_subspace(kernel, k, workers);
    if (!found) return std::nullopt;
    const std::vector<double> squares =
        estimate_spectrum(kernel.matrix, kernel.norm_squared, *found);
    const std::int64_t estimate = evbmf_rank(squares, unfolded_size(shape));
    // Inside the subspace the squares are good, outside they are a quadrature's.
    const std::int64_t margin = estimate < k ? 2 : estimate / 20;
    const std::int64_t rank = finish_rank(estimate - margin, shape);
    if (rank == finish_rank(estimate + margin, shape) && rank <= k) {
      return Ranked<T>{rank, std::move(found->part)};
    }
    if (lowest == highest) break;
  }
  return std::nullopt;
}

// The energy that a subspace catches is what its factors keep, so a rank found with it is safe.
template <typename T>
std::optional<Ranked<T>> energy_by_subspace(double share, const UnfoldedKernel<T>& kernel,
                                            Workers workers) {
  for (const std::int64_t part : {8, 4}) {
    const std::int64_t k = kernel.matrix.rows / part;
    std::optional<Subspace<T>> found = try_subspace(kernel, k, workers);
    if (!found) return std::nullopt;
    const std::span<const double> squares(found->part.squares.data(), static_cast<std::size_t>(k));
    const double kept = std::accumulate(squares.begin(), squares.end(), 0.0);
    if (kept >= share * kernel.norm_squared) {
      return Ranked<T>{energy_rank(squares, kernel.norm_squared, share), std::move(found->part)};
    }
  }
  return std::nullopt;
}

template <typename T>
Ranked<T> find_rank(const LayerTask& task, const UnfoldedKernel<T>& kernel, Workers workers) {
  const ConvShape& shape = task.layer->shape;
  const Unfolded size = unfolded_size(shape);
  const auto fixed = fixed_rank(task, size.rows);
  std::optional<Ranked<T>> fast;
  if (fixed) {
    if (auto found = try_subspace(kernel, *fixed, workers)) {
      fast = Ranked<T>{*fixed, std::move(found->part)};
    }
  } else if (task.rule == RankRule::kEnergy) {
    fast = energy_by_subspace(task.value, kernel, workers);
  } else {
    fast = evbmf_by_subspace(shape, kernel, workers);
  }
  if (fast) return std::move(*fast);
  Ranked<T> out{0, exact_part(kernel.matrix)};
  if (fixed) {
    out.rank = *fixed;
  } else if (task.rule == RankRule::kEnergy) {
    out.rank = energy_rank(out.part.squares, kernel.norm_squared, task.value);
  } else {
    out.rank = finish_rank(evbmf_rank(out.part.squares, size), shape);
  }
  return out;
}

// Error at a rank from the leading squares alone; for plans, which make no factors.
double expected_error(std::span<const double> squares, std::int64_t rank, double norm_squared) {
  double kept = 0;
  for (const double s : squares.first(static_cast<std::size_t>(rank))) kept += s;
  return std::sqrt(std::max(0.0, 1 - kept / norm_squared));
}

template <typename T>
LayerOutcome run(const LayerTask& task, std::vector<T> weights, Workers workers) {
  UnfoldedKernel<T> kernel = unfolded(*task.layer, task.mode, std::move(weights), workers);
  LayerOutcome out;
  out.zero_kernel = kernel.matrix.rows == 0;
  if (out.zero_kernel) return out;
  if (const auto rank = fixed_rank(task, kernel.matrix.rows)) {
    out.rank = *rank;
    if (!task.want_factors || !task.accepts(out.rank)) return out;
  }
  Ranked<T> ranked = find_rank(task, kernel, workers);
  out.rank = ranked.rank;
  if (!task.want_factors || !task.accepts(out.rank)) {
    out.relative_error = expected_error(ranked.part.squares, out.rank, kernel.norm_squared);
    return out;
  }
  LeadingPart<T>& part = ranked.part;
  if (task.layer->input_moments) {
    DataFit<T> fit = fit_to_data(kernel.matrix, out.rank, task.layer->input_moments(),
                                 rows_are_inputs(task.mode), workers);
    out.relative_error = fit.kernel_error;
    out.output_error = fit.output_error;
    part.basis = std::move(fit.basis);
    part.core = std::move(fit.core);
  } else {
    if (part.core.rows == 0) part.core = project(part.basis, out.rank, kernel.matrix);
    part.basis.rows = out.rank;
    part.core.rows = out.rank;
    out.relative_error =
        relative_error(kernel.matrix, kernel.norm_squared, part.basis, part.core, workers);
  }
  kernel.matrix.values.reset();
  out.factors = fold(std::move(part.basis), std::move(part.core), kernel.exponent,
                     task.layer->shape, task.mode, task.layer->largest_value, workers);
  return out;
}

}  // namespace

LayerOutcome decompose_layer(const LayerTask& task, Workers workers) {
  return std::visit(
      [&](auto&& weights) { return run(task, std::forward<decltype(weights)>(weights), workers); },
      task.layer->read_weights());
}

std::vector<double> spectrum_of(const Layer& layer, Mode mode, Workers workers) {
  return std::visit(
      [&](auto&& weights) -> std::vector<double> {
        const auto kernel =
            unfolded(layer, mode, std::forward<decltype(weights)>(weights), workers);
        if (kernel.matrix.rows == 0) return {};
        return all_squares(kernel.matrix);
      },
      layer.read_weights());
}

}  // namespace amct::decompose
