#include "amct/quant/hfmg_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "amct/base/assert.h"
#include "amct/kernels/quant_loss.h"
#include "amct/quant/factor.h"

namespace amct::quant {
namespace {

constexpr std::uint64_t kSteps = 100'000;  // share of the samples that one move drops

/// Lower bound of a window's loss in O(1): what lies outside is off by at least its distance to the
/// window. It grows as the window narrows.
class OutsideError {
 public:
  explicit OutsideError(std::span<const double> counts)
      : moments_(counts.size() + 1), bins_(static_cast<double>(counts.size())) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double middle = static_cast<double>(i) + 0.5;
      const Moments& m = moments_[i];
      moments_[i + 1] = {m.count + counts[i], m.sum + counts[i] * middle,
                         m.square + counts[i] * (middle * middle + 1.0 / 12.0)};
    }
  }

  /// In squares of bins; the margin covers the rounding of the sums.
  double bound(std::size_t left, std::size_t right) const {
    const Moments& all = moments_.back();
    const Moments& to_right = moments_[right + 1];
    const Moments above{all.count - to_right.count, all.sum - to_right.sum,
                        all.square - to_right.square};
    return spread(moments_[left], static_cast<double>(left)) +
           spread(above, static_cast<double>(right + 1)) - 1e-10 * bins_ * bins_ * all.count;
  }

 private:
  struct Moments {
    double count = 0.0;
    double sum = 0.0;
    double square = 0.0;
  };

  /// Sum of the squared distances to `edge`.
  static double spread(const Moments& m, double edge) {
    return m.square - 2.0 * edge * m.sum + edge * edge * m.count;
  }

  std::vector<Moments> moments_;  // of all bins below
  double bins_;
};

double window_loss(std::span<const double> counts, std::size_t left, std::size_t right,
                   double bin_width, int num_bits) {
  const double levels = std::ldexp(1.0, num_bits);
  const double step = bin_width * static_cast<double>(right - left + 1) / levels;
  return kernels::histogram_square_error(
      counts, {-static_cast<double>(left) * bin_width, bin_width, step, 0.5, 0.0, levels - 1.0});
}

}  // namespace

HfmgWindow hfmg_search(std::span<const std::uint64_t> counts, double range_width, int num_bits) {
  AMCT_ASSERT(counts.size() >= 4);
  const std::size_t bins = counts.size();
  const double bin_width = range_width / static_cast<double>(bins);
  const std::size_t narrowest = (bins + 3) / 4;
  const HfmgWindow whole{0, bins - 1, 0.0};
  if (bin_width * static_cast<double>(narrowest) / std::ldexp(1.0, num_bits) < double{kMinScale}) {
    return whole;
  }
  const std::vector<double> weights(counts.begin(), counts.end());
  const auto total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const std::uint64_t drop = std::max<std::uint64_t>((total + kSteps - 1) / kSteps, 1);

  const OutsideError outside(weights);
  HfmgWindow best = whole;
  best.loss = std::numeric_limits<double>::infinity();
  std::size_t left = 0;
  std::size_t right = bins - 1;
  while (right - left > narrowest) {
    std::size_t next_left = left;
    for (std::uint64_t dropped = 0; next_left < right && dropped < drop;) {
      dropped += counts[next_left++];
    }
    std::size_t next_right = right;
    for (std::uint64_t dropped = 0; next_right > left && dropped < drop;) {
      dropped += counts[next_right--];
    }
    if (next_left - left > right - next_right) {
      left = next_left;
    } else {
      right = next_right;
    }
    if (outside.bound(left, right) * bin_width * bin_width > best.loss) break;
    const double loss = window_loss(weights, left, right, bin_width, num_bits);
    if (loss < best.loss) best = {left, right, loss};
  }
  return best;
}

}  // namespace amct::quant
