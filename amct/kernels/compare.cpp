#include "amct/kernels/compare.h"

#include <cmath>
#include <cstddef>
#include <limits>

#include "amct/base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "amct/kernels/compare.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace amct::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void compare_pieces(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::size_t n,
                    Comparison& out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  auto dot = hn::Zero(d);
  auto aa = dot;
  auto bb = dot;
  auto dd = dot;
  auto largest = dot;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto x = hn::PromoteTo(d, hn::LoadU(df, a + i));
    const auto y = hn::PromoteTo(d, hn::LoadU(df, b + i));
    const auto difference = hn::Sub(y, x);
    dot = hn::MulAdd(x, y, dot);
    aa = hn::MulAdd(x, x, aa);
    bb = hn::MulAdd(y, y, bb);
    dd = hn::MulAdd(difference, difference, dd);
    largest = hn::Max(largest, hn::Abs(difference));
  }
  out.dot += hn::GetLane(hn::SumOfLanes(d, dot));
  out.reference_square += hn::GetLane(hn::SumOfLanes(d, aa));
  out.value_square += hn::GetLane(hn::SumOfLanes(d, bb));
  out.difference_square += hn::GetLane(hn::SumOfLanes(d, dd));
  const double top = hn::GetLane(hn::MaxOfLanes(d, largest));
  out.max_difference = top > out.max_difference ? top : out.max_difference;
  for (; i < n; ++i) {
    const double x = double{a[i]};
    const double y = double{b[i]};
    const double difference = y - x;
    const double size = difference < 0.0 ? -difference : difference;
    out.dot += x * y;
    out.reference_square += x * x;
    out.value_square += y * y;
    out.difference_square += difference * difference;
    out.max_difference = size > out.max_difference ? size : out.max_difference;
  }
}

}  // namespace amct::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace amct::kernels {

HWY_EXPORT(compare_pieces);

void Comparison::add(std::span<const float> reference, std::span<const float> value) {
  AMCT_ASSERT(reference.size() == value.size());
  HWY_DYNAMIC_DISPATCH(compare_pieces)(reference.data(), value.data(), reference.size(), *this);
  if (!std::isfinite(difference_square)) max_difference = std::numeric_limits<double>::infinity();
  count += reference.size();
}

void Comparison::merge(const Comparison& other) {
  count += other.count;
  dot += other.dot;
  reference_square += other.reference_square;
  value_square += other.value_square;
  difference_square += other.difference_square;
  max_difference = std::fmax(max_difference, other.max_difference);
}

double Comparison::cosine() const {
  if (reference_square == 0.0 && value_square == 0.0) return 1.0;
  if (reference_square == 0.0 || value_square == 0.0) return 0.0;
  return dot / (std::sqrt(reference_square) * std::sqrt(value_square));
}

double Comparison::sqnr_db() const {
  if (difference_square == 0.0) return std::numeric_limits<double>::infinity();
  return 10.0 * std::log10(reference_square / difference_square);
}

double Comparison::mean_square_error() const {
  return count == 0 ? 0.0 : difference_square / static_cast<double>(count);
}

}  // namespace amct::kernels
#endif
