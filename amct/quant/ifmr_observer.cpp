#include <algorithm>
#include <cmath>

#include "amct/base/error.h"
#include "amct/kernels/histogram.h"
#include "amct/kernels/range.h"
#include "amct/quant/grid_histogram.h"
#include "amct/quant/ifmr_search.h"
#include "amct/quant/observer_common.h"

namespace amct::quant {
namespace {

// Values that are looked at twice while they are in the first level cache.
constexpr std::size_t kBlock = 4096;

/// Keeps the values up to the limit, after that the histogram of all of them.
class IfmrObserver final : public ActivationObserver {
 public:
  IfmrObserver(const IfmrOptions& options, const ObserverLimits& limits)
      : options_(options), limits_(limits) {}

  void observe(std::span<const float> batch) override;
  void merge(const ActivationObserver& other) override;
  ActivationResult finish(int num_bits, bool asymmetric) const override;
  Histogram histogram(int bins) const override;
  std::vector<std::byte> serialize() const override;
  std::size_t memory() const override {
    return values_.capacity() * sizeof(float) + histogram_.memory();
  }

  static std::unique_ptr<ActivationObserver> read(ByteReader& reader);

 private:
  std::uint64_t count() const { return overflowed_ ? histogram_.count() : values_.size(); }
  void add_finite(std::span<const float> x, float min, float max);
  void overflow();
  void read_values(ByteReader& reader);
  void read_histogram(ByteReader& reader);
  float min() const { return overflowed_ ? histogram_.min() : min_; }
  float max() const { return overflowed_ ? histogram_.max() : max_; }

  IfmrOptions options_;
  ObserverLimits limits_;
  std::uint64_t nonfinite_ = 0;
  std::vector<float> values_;
  float min_ = 0.0F;  // of values_
  float max_ = 0.0F;
  bool overflowed_ = false;
  GridHistogram histogram_;
};

void IfmrObserver::observe(std::span<const float> batch) {
  if (!overflowed_ && values_.capacity() == 0) {
    values_.reserve(std::min(batch.size(), limits_.exact_values));
  }
  std::vector<float> finite;
  for (std::size_t at = 0; at < batch.size(); at += kBlock) {
    auto block = batch.subspan(at, std::min(kBlock, batch.size() - at));
    const auto range = kernels::finite_range(block);
    if (range.finite != block.size()) {
      nonfinite_ += block.size() - range.finite;
      finite.resize(block.size());
      block = std::span<const float>(finite).first(kernels::copy_finite(block, finite.data()));
    }
    if (!block.empty()) add_finite(block, range.min, range.max);
  }
}

void IfmrObserver::add_finite(std::span<const float> x, float min, float max) {
  if (!overflowed_ && values_.size() + x.size() > limits_.exact_values) overflow();
  if (overflowed_) {
    histogram_.add(x, min, max);
    return;
  }
  min_ = values_.empty() ? min : std::min(min_, min);
  max_ = values_.empty() ? max : std::max(max_, max);
  values_.insert(values_.end(), x.begin(), x.end());
}

void IfmrObserver::overflow() {
  overflowed_ = true;
  histogram_.add(values_, min_, max_);
  std::vector<float>().swap(values_);  // gives the memory back
}

void IfmrObserver::merge(const ActivationObserver& other) {
  const auto* that = dynamic_cast<const IfmrObserver*>(&other);
  if (that == nullptr || !(that->options_ == options_) ||
      that->limits_.exact_values != limits_.exact_values) {
    raise(ErrorCode::kUsage, "observers of different options cannot be merged");
  }
  nonfinite_ += that->nonfinite_;
  if (that->overflowed_) {
    if (!overflowed_) overflow();
    histogram_.merge(that->histogram_);
  } else if (!that->values_.empty()) {
    add_finite(std::vector<float>(that->values_), that->min_, that->max_);
  }
}

ActivationResult IfmrObserver::finish(int num_bits, bool asymmetric) const {
  check_activation_bits(num_bits);
  ActivationResult result;
  result.finite_count = count();
  result.nonfinite_count = nonfinite_;
  result.exact = !overflowed_;
  if (result.finite_count == 0) return result;
  result.observed_min = min();
  result.observed_max = max();
  const IfmrChoice choice = overflowed_ ? ifmr_search(histogram_, options_, num_bits, asymmetric)
                                        : ifmr_search(values_, options_, num_bits, asymmetric);
  result.loss = choice.loss;
  set_factor(result, choice.factor, num_bits);
  return result;
}

Histogram IfmrObserver::histogram(int bins) const {
  std::vector<Piece> pieces;
  if (!overflowed_) {
    for (const float v : values_) pieces.push_back({double{v}, double{v}, 1});
    return resample(pieces, min_, max_, bins);
  }
  const auto view = histogram_.view();
  const double width = histogram_.bin_width();
  pieces.push_back({0.0, 0.0, view.zeros});
  for (std::size_t i = 0; i < view.counts.size(); ++i) {
    const double low = static_cast<double>(view.first + static_cast<std::int64_t>(i)) * width;
    pieces.push_back({low, low + width, view.counts[i]});
  }
  return resample(pieces, histogram_.min(), histogram_.max(), bins);
}

std::vector<std::byte> IfmrObserver::serialize() const {
  ByteWriter w;
  w.put(kStateMagic);
  w.put(ObserverKind::kIfmr);
  w.put(options_.max_percentile);
  w.put(options_.min_percentile);
  w.put(options_.search_range_start);
  w.put(options_.search_range_end);
  w.put(options_.search_step);
  w.put(static_cast<std::uint64_t>(limits_.exact_values));
  w.put(nonfinite_);
  w.put(static_cast<std::uint8_t>(overflowed_ ? 1 : 0));
  if (!overflowed_) {
    w.put(static_cast<std::uint64_t>(values_.size()));
    w.put_all(std::span<const float>(values_));
    return std::move(w).take();
  }
  const auto view = histogram_.view();
  w.put(static_cast<std::int32_t>(histogram_.exponent()));
  w.put(histogram_.min());
  w.put(histogram_.max());
  w.put(view.first);
  w.put(view.zeros);
  w.put(static_cast<std::uint64_t>(view.counts.size()));
  w.put_all(std::span<const std::uint64_t>(view.counts));
  return std::move(w).take();
}

void IfmrObserver::read_values(ByteReader& reader) {
  auto values = reader.get_all<float>(reader.get<std::uint64_t>());
  const auto range = kernels::finite_range(values);
  if (range.finite != values.size() || values.size() > limits_.exact_values) {
    raise(ErrorCode::kInvalidData, "values that an observer cannot hold");
  }
  values_ = std::move(values);
  min_ = range.min;
  max_ = range.max;
}

void IfmrObserver::read_histogram(ByteReader& reader) {
  const auto exponent = reader.get<std::int32_t>();
  const auto min = reader.get<float>();
  const auto max = reader.get<float>();
  GridHistogram::View view;
  view.first = reader.get<std::int64_t>();
  view.zeros = reader.get<std::uint64_t>();
  view.counts = reader.get_all<std::uint64_t>(reader.get<std::uint64_t>());
  overflowed_ = true;
  if (!histogram_.restore(exponent, min, max, view) || histogram_.count() <= limits_.exact_values) {
    raise(ErrorCode::kInvalidData, "a histogram contradicts itself");
  }
}

std::unique_ptr<ActivationObserver> IfmrObserver::read(ByteReader& reader) {
  IfmrOptions options;
  options.max_percentile = reader.get<float>();
  options.min_percentile = reader.get<float>();
  options.search_range_start = reader.get<float>();
  options.search_range_end = reader.get<float>();
  options.search_step = reader.get<float>();
  check_ifmr_options(options);
  ObserverLimits limits;
  limits.exact_values = static_cast<std::size_t>(reader.get<std::uint64_t>());
  auto observer = std::make_unique<IfmrObserver>(options, limits);
  observer->nonfinite_ = reader.get<std::uint64_t>();
  switch (const auto mode = reader.get<std::uint8_t>()) {
    case 0:
      observer->read_values(reader);
      break;
    case 1:
      observer->read_histogram(reader);
      break;
    default:
      raise(ErrorCode::kInvalidData, "unknown mode {}, expected 0 or 1", mode);
  }
  return observer;
}

}  // namespace

std::unique_ptr<ActivationObserver> make_ifmr_observer(const IfmrOptions& options,
                                                       const ObserverLimits& limits) {
  check_ifmr_options(options);
  return std::make_unique<IfmrObserver>(options, limits);
}

std::unique_ptr<ActivationObserver> read_ifmr_observer(ByteReader& reader) {
  return IfmrObserver::read(reader);
}

}  // namespace amct::quant
