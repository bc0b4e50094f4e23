#include "amct/decompose/layer_work.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "amct/base/error.h"
#include "amct/decompose/data_fit.h"
#include "amct/decompose/leading_part.h"
#include "amct/decompose/rank.h"
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
Ranked<T> find_rank(const LayerTask& task, const UnfoldedKernel<T>& kernel) {
  const Unfolded size = unfolded_size(task.layer->shape);
  Ranked<T> out;
  out.part = exact_part(kernel.matrix);
  if (const auto rank = fixed_rank(task, size.rows)) {
    out.rank = *rank;
  } else if (task.rule == RankRule::kEnergy) {
    out.rank = energy_rank(out.part.squares, kernel.norm_squared, task.value);
  } else {
    out.rank = finish_rank(evbmf_rank(out.part.squares, size), task.layer->shape);
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
  Ranked<T> ranked = find_rank(task, kernel);
  out.rank = ranked.rank;
  if (!task.want_factors || !task.accepts(out.rank)) {
    out.relative_error = expected_error(ranked.part.squares, out.rank, kernel.norm_squared);
    return out;
  }
  Matrix<T> core;
  if (task.layer->input_moments) {
    DataFit<T> fit = fit_to_data(kernel.matrix, out.rank, task.layer->input_moments(),
                                 rows_are_inputs(task.mode));
    out.relative_error = fit.kernel_error;
    out.output_error = fit.output_error;
    ranked.part.basis = std::move(fit.basis);
    core = std::move(fit.core);
  } else {
    core = project(ranked.part.basis, out.rank, kernel.matrix);
    ranked.part.basis.rows = out.rank;
    out.relative_error =
        relative_error(kernel.matrix, kernel.norm_squared, ranked.part.basis, core);
  }
  kernel.matrix.values.reset();
  out.factors = fold(std::move(ranked.part.basis), std::move(core), kernel.exponent,
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
