#include "amct/kernels/quant_loss.h"

#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "amct/kernels/quant_loss.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace amct::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Squares of this many values are added in float before the sum goes on in double.
constexpr std::size_t kFloatRun = 1024;

template <class D, class V = hn::Vec<D>>
HWY_INLINE V square_error(D d, V x, float low, float high, float scale, float inverse) {
  const V clipped = hn::Clamp(x, hn::Set(d, low), hn::Set(d, high));
  const V level = hn::Round(hn::Mul(clipped, hn::Set(d, inverse)));
  const V error = hn::MulSub(level, hn::Set(d, scale), x);
  return hn::Mul(error, error);
}

double clipped_error(const float* HWY_RESTRICT x, std::size_t n, float low, float high,
                     float scale) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const float inverse = 1.0F / scale;
  double total = 0.0;
  std::size_t i = 0;
  while (i + 2 * lanes <= n) {
    const std::size_t run_end = i + kFloatRun < n ? i + kFloatRun : n;
    auto sum0 = hn::Zero(d);
    auto sum1 = hn::Zero(d);
    for (; i + 2 * lanes <= run_end; i += 2 * lanes) {
      sum0 = hn::Add(sum0, square_error(d, hn::LoadU(d, x + i), low, high, scale, inverse));
      sum1 = hn::Add(sum1, square_error(d, hn::LoadU(d, x + i + lanes), low, high, scale, inverse));
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1))));
  }
  const hn::CappedTag<float, 1> d1;
  for (; i < n; ++i) {
    total += static_cast<double>(
        hn::GetLane(square_error(d1, hn::Set(d1, x[i]), low, high, scale, inverse)));
  }
  return total;
}

// Integral of the squared error from a fixed point to t (in steps): with j the level in charge,
// each full cell gives 1/12 and the rest of the last one (t - j)^3 / 3.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V error_integral(D d, V t, V first, V last) {
  const V level = hn::Clamp(hn::Round(t), first, last);
  const V rest = hn::Sub(t, level);
  return hn::MulAdd(hn::Mul(hn::Mul(rest, rest), rest), hn::Set(d, 1.0 / 3.0),
                    hn::Mul(level, hn::Set(d, 1.0 / 12.0)));
}

double histogram_error(const double* HWY_RESTRICT counts, std::size_t n,
                       const HistogramLevels& levels) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const double bin = levels.bin_width / levels.step;
  const double origin = levels.first_edge / levels.step - levels.shift;
  const auto first = hn::Set(d, levels.first_level);
  const auto last = hn::Set(d, levels.last_level);
  const auto width = hn::Set(d, bin);
  const auto start = hn::Set(d, origin);
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto index = hn::Iota(d, static_cast<double>(i));
    const auto low = hn::MulAdd(index, width, start);
    const auto high = hn::MulAdd(hn::Add(index, hn::Set(d, 1.0)), width, start);
    const auto mass =
        hn::Sub(error_integral(d, high, first, last), error_integral(d, low, first, last));
    sum = hn::MulAdd(hn::LoadU(d, counts + i), mass, sum);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  const hn::CappedTag<double, 1> d1;
  const auto first1 = hn::Set(d1, levels.first_level);
  const auto last1 = hn::Set(d1, levels.last_level);
  for (; i < n; ++i) {
    const auto low = hn::Set(d1, static_cast<double>(i) * bin + origin);
    const auto high = hn::Set(d1, static_cast<double>(i + 1) * bin + origin);
    total += counts[i] * hn::GetLane(hn::Sub(error_integral(d1, high, first1, last1),
                                             error_integral(d1, low, first1, last1)));
  }
  return total * levels.step * levels.step / bin;
}

}  // namespace amct::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace amct::kernels {

HWY_EXPORT(clipped_error);
HWY_EXPORT(histogram_error);

double clipped_square_error(std::span<const float> x, float clip_min, float clip_max, float scale) {
  const double sum =
      HWY_DYNAMIC_DISPATCH(clipped_error)(x.data(), x.size(), clip_min, clip_max, scale);
  if (std::isfinite(sum)) return sum;
  double wide = 0.0;  // squares beyond the range of float
  for (const float value : x) {
    const float clipped = value < clip_min ? clip_min : value > clip_max ? clip_max : value;
    const double level = std::nearbyint(double{clipped} / double{scale});
    const double error = level * double{scale} - double{value};
    wide += error * error;
  }
  return wide;
}

double histogram_square_error(std::span<const double> counts, const HistogramLevels& levels) {
  return HWY_DYNAMIC_DISPATCH(histogram_error)(counts.data(), counts.size(), levels);
}

}  // namespace amct::kernels
#endif
