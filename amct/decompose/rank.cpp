#include "amct/decompose/rank.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "amct/base/error.h"
#include "amct/decompose/minimize.h"

namespace amct::decompose {
namespace {

constexpr double kTolerance = 1e-5;  // of the noise variance, where the mean square is 1
constexpr int kEvaluations = 500;
constexpr std::int64_t kStep = 16;
constexpr std::int64_t kWideChannels = 256;

// The negative log of the evidence as a function of the noise variance, up to a constant. Only the
// squares above the threshold that the variance sets and the sum of all enter: the logarithms of
// the rest add up to the same whatever the variance, once those above are taken off.
class NoiseObjective {
 public:
  // `leading`: the largest squares, descending; `total`: the sum of all, > 0.
  NoiseObjective(std::span<const double> leading, Unfolded size, double total)
      : leading_(leading),
        rows_(static_cast<double>(size.rows)),
        alpha_(rows_ / static_cast<double>(size.columns)),
        unit_(total / rows_) {
    const double tau = 2.5129 * std::sqrt(alpha_);
    threshold_ = (1 + tau) * (1 + alpha_ / tau);
  }

  [[nodiscard]] double alpha() const { return alpha_; }
  /// Squares are measured in this unit, so that a variance of 1 is all noise.
  [[nodiscard]] double unit() const { return unit_; }
  /// Square, in units of the variance, from which on a component is signal.
  [[nodiscard]] double threshold() const { return threshold_; }

  [[nodiscard]] std::int64_t count_above(double variance) const {
    const double limit = variance * threshold_ * unit_;
    return std::ranges::lower_bound(leading_, limit, std::greater{}) - leading_.begin();
  }

  // What a component of square x above the threshold adds, besides x - log(x).
  [[nodiscard]] double gain(double x) const {
    const double b = x - (1 + alpha_);
    const double tau = 0.5 * (b + std::sqrt(std::max(0.0, b * b - 4 * alpha_)));
    return std::log1p(tau) + alpha_ * std::log1p(tau / alpha_) - tau;
  }

  [[nodiscard]] double operator()(double variance) const {
    double sum = rows_ / variance + rows_ * std::log(variance);
    const auto above = static_cast<std::size_t>(count_above(variance));
    for (std::size_t i = 0; i < above; ++i) sum += gain(leading_[i] / (unit_ * variance));
    return sum;
  }

 private:
  std::span<const double> leading_;
  double rows_;
  double alpha_;
  double unit_;
  double threshold_ = 0;
};

// Index from which on components cannot be signal (theorem 2 of the paper), as the original has it.
std::size_t signal_bound(Unfolded size, double alpha) {
  const auto rows = static_cast<double>(size.rows);
  const double bound = std::min(std::ceil(rows / (1 + alpha)) - 1, rows) - 1;
  return static_cast<std::size_t>(std::clamp(bound, 0.0, rows - 2));
}

double sum_from(std::span<const double> squares, std::size_t first) {
  double sum = 0;
  for (std::size_t i = squares.size(); i > first; --i) sum += squares[i - 1];
  return sum;
}

}  // namespace

Unfolded unfolded_size(const ConvShape& s) {
  return {std::min(s.kernel_h, s.kernel_w) * std::min(s.in_channels, s.out_channels),
          std::max(s.kernel_h, s.kernel_w) * std::max(s.in_channels, s.out_channels)};
}

std::int64_t evbmf_rank(std::span<const double> squares, Unfolded size) {
  const double total = sum_from(squares, 0);
  if (total <= 0 || size.rows < 2) return total > 0 ? size.rows : 0;
  const NoiseObjective objective(squares, size, total);
  const std::size_t e = signal_bound(size, objective.alpha());
  const double tail = sum_from(squares, e + 1) / static_cast<double>(squares.size() - e - 1);
  const double low = std::max(squares[e + 1] / objective.threshold(), tail) / objective.unit();
  const double variance = minimize(std::cref(objective), low, 1, kTolerance, kEvaluations);
  return objective.count_above(variance);
}

RankLimits rank_limits(const ConvShape& s) {
  const std::int64_t divisor = std::min(s.in_channels, s.out_channels) >= kWideChannels ? 4 : 6;
  const std::int64_t rows = unfolded_size(s).rows;
  return {rows / (divisor + 1), rows / divisor};
}

std::int64_t finish_rank(std::int64_t estimate, const ConvShape& shape) {
  const RankLimits limits = rank_limits(shape);
  const std::int64_t rank = std::max(std::min(estimate, limits.high), limits.low);
  std::int64_t rounded = std::max(kStep, (rank + kStep / 2) / kStep * kStep);
  if (static_cast<double>(rounded) < 0.9 * static_cast<double>(rank)) rounded += kStep;
  return std::min(rounded, unfolded_size(shape).rows);
}

std::int64_t choose_rank(std::span<const double> singular_values, const ConvShape& shape) {
  const Unfolded size = unfolded_size(shape);
  if (static_cast<std::int64_t>(singular_values.size()) != size.rows) {
    raise(ErrorCode::kInvalidData,
          "{} singular values were given for a convolution {} -> {} with kernel {} x {}; it has {}",
          singular_values.size(), shape.in_channels, shape.out_channels, shape.kernel_h,
          shape.kernel_w, size.rows);
  }
  double largest = 0;
  for (std::size_t i = 0; i < singular_values.size(); ++i) {
    const double s = singular_values[i];
    if (!(s >= 0) || std::isinf(s)) {
      raise(ErrorCode::kInvalidData,
            "singular value {} is {}; all have to be finite and not negative", i, s);
    }
    largest = std::max(largest, s);
  }
  std::vector<double> squares(singular_values.begin(), singular_values.end());
  for (double& s : squares) s = largest > 0 ? (s / largest) * (s / largest) : 0;
  std::ranges::sort(squares, std::greater{});
  return finish_rank(evbmf_rank(squares, size), shape);
}

}  // namespace amct::decompose
