#include "amct/quant/ifmr_search.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "amct/base/assert.h"
#include "amct/base/error.h"
#include "amct/kernels/quant_loss.h"
#include "amct/kernels/range.h"
#include "amct/quant/factor.h"

namespace amct::quant {
namespace {

constexpr std::uint64_t kMaxCandidates = 100'000;

// The decimal number that the user wrote: 0.999999F is 0.99999899 in binary, which for a million
// values would take the second largest for the largest.
double decimal(float value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  double exact = 0.0;
  std::from_chars(text, end, exact);
  return exact;
}

// Rank, from the outside, of the value that a percentile names: 1 is the extreme one.
std::uint64_t rank_of(float percentile, std::uint64_t count) {
  if (percentile == 1.0F) return 1;
  const double kept = std::floor(decimal(percentile) * static_cast<double>(count));
  return std::clamp<std::uint64_t>(count - static_cast<std::uint64_t>(kept), 1, count);
}

// Clip range of one candidate and the factor it leads to.
struct Candidate {
  float clip_min = 0.0F;
  float clip_max = 0.0F;
  QuantFactor factor;
};

float scaled(double ratio, float end) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(ratio * double{end}, -kLargest, kLargest));
}

Candidate make_candidate(double ratio, float low, float high, int num_bits, bool asymmetric) {
  const float max = scaled(ratio, high);
  if (asymmetric) return {low, max, factor_of_range(low, max, num_bits, true)};
  const float min = scaled(ratio, low);
  const float end = std::max(-min, max);
  return {-end, end, factor_of_range(min, max, num_bits, false)};
}

// The smallest loss wins, the first one of equals. low <= 0 <= high.
template <typename Loss>
IfmrChoice best_candidate(float low, float high, const IfmrOptions& options, int num_bits,
                          bool asymmetric, Loss loss_of) {
  const double start = decimal(options.search_range_start);
  const double step = decimal(options.search_step);
  const std::uint64_t count = ifmr_candidates(options);
  IfmrChoice best{{}, std::numeric_limits<double>::infinity()};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Candidate c =
        make_candidate(start + static_cast<double>(i) * step, low, high, num_bits, asymmetric);
    const double loss = loss_of(c);
    if (loss < best.loss) best = {c.factor, loss};
  }
  return best;
}

float ranked_value(std::span<const float> values, float extreme, std::uint64_t rank, bool largest) {
  if (rank == 1) return extreme;
  std::vector<float> sorted(values.begin(), values.end());
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  if (largest) {
    std::nth_element(sorted.begin(), nth, sorted.end(), std::greater<>());
  } else {
    std::nth_element(sorted.begin(), nth, sorted.end());
  }
  return *nth;
}

// Value of a rank counted from the top (or bottom), spread evenly within its bin.
double ranked_value(const GridHistogram& histogram, const GridHistogram::View& view,
                    std::uint64_t rank, bool largest) {
  const double width = histogram.bin_width();
  const auto bins = static_cast<std::int64_t>(view.counts.size());
  std::uint64_t outside = 0;  // values passed on the way in
  bool zeros_passed = false;
  for (std::int64_t k = 0; k < bins; ++k) {
    const std::int64_t at = largest ? bins - 1 - k : k;
    const std::int64_t bin = view.first + at;
    if (!zeros_passed && (largest ? bin < 0 : bin >= 0)) {
      zeros_passed = true;
      outside += view.zeros;
      if (rank <= outside) return 0.0;
    }
    const std::uint64_t count = view.counts[static_cast<std::size_t>(at)];
    if (rank > outside + count) {
      outside += count;
      continue;
    }
    const double share = (static_cast<double>(rank - outside) - 0.5) / static_cast<double>(count);
    const double low = std::max(static_cast<double>(bin) * width, double{histogram.min()});
    const double high = std::min(static_cast<double>(bin + 1) * width, double{histogram.max()});
    return largest ? high - share * (high - low) : low + share * (high - low);
  }
  return 0.0;
}

// The values of a histogram as a density that is even within each bin. The outermost bins end at
// the smallest and largest value: clipping activations put much of their mass exactly there.
class HistogramMass {
 public:
  HistogramMass(const GridHistogram& histogram, const GridHistogram::View& view)
      : width_(histogram.bin_width()) {
    const auto used = [](std::uint64_t c) { return c != 0; };
    const auto begin = std::find_if(view.counts.begin(), view.counts.end(), used);
    const auto end = std::find_if(view.counts.rbegin(), view.counts.rend(), used).base();
    if (begin >= end) return;  // nothing but zeros
    first_edge_ = static_cast<double>(view.first + (begin - view.counts.begin())) * width_;
    inner_.assign(begin, end);
    const double last_edge = first_edge_ + width_ * static_cast<double>(inner_.size() - 1);
    add_end(inner_.back(), last_edge, last_edge + width_, histogram);
    inner_.back() = 0.0;
    add_end(inner_.front(), first_edge_, first_edge_ + width_, histogram);
    inner_.front() = 0.0;
  }

  double square_error(const Candidate& c) const {
    const double step = double{c.factor.scale};
    const double first = std::nearbyint(double{c.clip_min} / step);
    const double last = std::nearbyint(double{c.clip_max} / step);
    double sum =
        kernels::histogram_square_error(inner_, {first_edge_, width_, step, 0.0, first, last});
    for (const End& e : ends_) {
      if (e.high - e.low > 1e-6 * step) {
        sum += kernels::histogram_square_error({&e.count, 1},
                                               {e.low, e.high - e.low, step, 0.0, first, last});
        continue;
      }
      const double level = std::clamp(std::nearbyint(e.high / step), first, last);
      const double error = level * step - e.high;
      sum += e.count * error * error;
    }
    return sum;
  }

 private:
  struct End {
    double count = 0.0;
    double low = 0.0;
    double high = 0.0;
  };
  void add_end(double count, double low, double high, const GridHistogram& histogram) {
    if (count == 0.0) return;
    ends_.push_back(
        {count, std::max(low, double{histogram.min()}), std::min(high, double{histogram.max()})});
  }

  double width_;
  double first_edge_ = 0.0;
  std::vector<double> inner_;
  std::vector<End> ends_;
};

}  // namespace

std::uint64_t ifmr_candidates(const IfmrOptions& options) {
  const double steps = (decimal(options.search_range_end) - decimal(options.search_range_start)) /
                       decimal(options.search_step);
  // A hair more, so that a last step which ends on the end of the range counts.
  return static_cast<std::uint64_t>(steps + 1e-6) + 1;
}

void check_ifmr_options(const IfmrOptions& o) {
  const auto check_percentile = [](const char* name, float value) {
    if (!(value > 0.5F && value <= 1.0F)) {
      raise(ErrorCode::kInvalidConfig, "{} is {}, expected more than 0.5 and at most 1", name,
            value);
    }
  };
  check_percentile("max_percentile", o.max_percentile);
  check_percentile("min_percentile", o.min_percentile);
  if (!(o.search_range_start > 0.0F && o.search_range_end > o.search_range_start &&
        std::isfinite(o.search_range_end))) {
    raise(ErrorCode::kInvalidConfig, "search_range is [{}, {}], expected 0 < start < end",
          o.search_range_start, o.search_range_end);
  }
  const double range = decimal(o.search_range_end) - decimal(o.search_range_start);
  if (!(o.search_step > 0.0F && decimal(o.search_step) <= range * (1.0 + 1e-6))) {
    raise(ErrorCode::kInvalidConfig, "search_step is {}, expected more than 0 and at most {}",
          o.search_step, range);
  }
  if (range / decimal(o.search_step) >= static_cast<double>(kMaxCandidates)) {
    raise(ErrorCode::kInvalidConfig,
          "search_step {} over the search_range [{}, {}] gives more than {} candidates; use a "
          "larger step",
          o.search_step, o.search_range_start, o.search_range_end, kMaxCandidates);
  }
}

IfmrChoice ifmr_search(std::span<const float> values, const IfmrOptions& options, int num_bits,
                       bool asymmetric) {
  AMCT_ASSERT(!values.empty());
  const auto range = kernels::finite_range(values);
  const auto n = static_cast<std::uint64_t>(values.size());
  const float high =
      std::max(0.0F, ranked_value(values, range.max, rank_of(options.max_percentile, n), true));
  const float low =
      std::min(0.0F, ranked_value(values, range.min, rank_of(options.min_percentile, n), false));
  IfmrChoice best =
      best_candidate(low, high, options, num_bits, asymmetric, [&](const Candidate& c) {
        return kernels::clipped_square_error(values, c.clip_min, c.clip_max, c.factor.scale);
      });
  best.loss /= static_cast<double>(n);
  return best;
}

IfmrChoice ifmr_search(const GridHistogram& histogram, const IfmrOptions& options, int num_bits,
                       bool asymmetric) {
  const GridHistogram::View view = histogram.view();
  const std::uint64_t n = histogram.count();
  AMCT_ASSERT(n > 0);
  const auto end_value = [&](float percentile, float extreme, bool largest) {
    const std::uint64_t rank = rank_of(percentile, n);
    return rank == 1 ? extreme : static_cast<float>(ranked_value(histogram, view, rank, largest));
  };
  const float high = std::max(0.0F, end_value(options.max_percentile, histogram.max(), true));
  const float low = std::min(0.0F, end_value(options.min_percentile, histogram.min(), false));

  const HistogramMass mass(histogram, view);
  IfmrChoice best = best_candidate(low, high, options, num_bits, asymmetric,
                                   [&](const Candidate& c) { return mass.square_error(c); });
  best.loss /= static_cast<double>(n);
  return best;
}

}  // namespace amct::quant
