#include <algorithm>
#include <cmath>

#include "amct/base/error.h"
#include "amct/kernels/range.h"
#include "amct/quant/factor.h"
#include "amct/quant/hfmg_search.h"
#include "amct/quant/observer_common.h"
#include "amct/quant/range_histogram.h"

namespace amct::quant {
namespace {

class HfmgObserver final : public ActivationObserver {
 public:
  explicit HfmgObserver(std::size_t bins) : histogram_(bins) {}

  void observe(std::span<const float> batch) override;
  void merge(const ActivationObserver& other) override;
  ActivationResult finish(int num_bits, bool asymmetric) const override;
  Histogram histogram(int bins) const override;
  std::vector<std::byte> serialize() const override;
  std::size_t memory() const override { return histogram_.memory(); }

  static std::unique_ptr<ActivationObserver> read(ByteReader& reader);

 private:
  std::uint64_t nonfinite_ = 0;
  RangeHistogram histogram_;
};

void HfmgObserver::observe(std::span<const float> batch) {
  const auto range = kernels::finite_range(batch);
  nonfinite_ += batch.size() - range.finite;
  if (range.finite == 0) return;
  if (range.finite == batch.size()) {
    histogram_.add(batch, range.min, range.max);
    return;
  }
  std::vector<float> finite(batch.size());
  finite.resize(kernels::copy_finite(batch, finite.data()));
  histogram_.add(finite, range.min, range.max);
}

void HfmgObserver::merge(const ActivationObserver& other) {
  const auto* that = dynamic_cast<const HfmgObserver*>(&other);
  if (that == nullptr || that->histogram_.bins() != histogram_.bins()) {
    raise(ErrorCode::kUsage, "observers of different options cannot be merged");
  }
  nonfinite_ += that->nonfinite_;
  histogram_.merge(that->histogram_);
}

ActivationResult HfmgObserver::finish(int num_bits, bool asymmetric) const {
  check_activation_bits(num_bits);
  ActivationResult result;
  result.finite_count = histogram_.total();
  result.nonfinite_count = nonfinite_;
  result.exact = false;
  if (result.finite_count == 0) return result;
  const double min = histogram_.min();
  const double range = double{histogram_.max()} - min;
  result.observed_min = histogram_.min();
  result.observed_max = histogram_.max();
  const auto counts = histogram_.counts();
  const HfmgWindow window = hfmg_search(counts, range, num_bits);
  const double width = range / static_cast<double>(counts.size());
  const double clip_max = window.right + 1 == counts.size()
                              ? double{histogram_.max()}
                              : min + static_cast<double>(window.right + 1) * width;
  result.loss = window.loss / static_cast<double>(result.finite_count);
  set_factor(result,
             factor_of_range(static_cast<float>(min + static_cast<double>(window.left) * width),
                             static_cast<float>(clip_max), num_bits, asymmetric),
             num_bits);
  return result;
}

Histogram HfmgObserver::histogram(int bins) const {
  const auto counts = histogram_.counts();
  const double min = histogram_.min();
  const double width = (double{histogram_.max()} - min) / static_cast<double>(counts.size());
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double low = min + width * static_cast<double>(i);
    pieces.push_back({low, low + width, counts[i]});
  }
  return resample(pieces, histogram_.min(), histogram_.max(), bins);
}

std::vector<std::byte> HfmgObserver::serialize() const {
  ByteWriter w;
  w.put(kStateMagic);
  w.put(ObserverKind::kHfmg);
  w.put(nonfinite_);
  w.put(histogram_.min());
  w.put(histogram_.max());
  const auto counts = histogram_.counts();
  w.put(static_cast<std::uint64_t>(counts.size()));
  w.put_all(counts);
  return std::move(w).take();
}

std::unique_ptr<ActivationObserver> HfmgObserver::read(ByteReader& reader) {
  const auto nonfinite = reader.get<std::uint64_t>();
  const auto min = reader.get<float>();
  const auto max = reader.get<float>();
  auto counts = reader.get_all<std::uint64_t>(reader.get<std::uint64_t>());
  HfmgOptions options;
  options.num_of_bins =
      static_cast<std::uint32_t>(std::min<std::size_t>(counts.size(), UINT32_MAX));
  auto observer = make_hfmg_observer(options);
  auto& hfmg = static_cast<HfmgObserver&>(*observer);
  hfmg.nonfinite_ = nonfinite;
  if (!hfmg.histogram_.restore(min, max, std::move(counts))) {
    raise(ErrorCode::kInvalidData, "a histogram contradicts itself");
  }
  return observer;
}

}  // namespace

std::unique_ptr<ActivationObserver> make_hfmg_observer(const HfmgOptions& options) {
  const std::uint32_t bins = options.num_of_bins;
  if (bins != 1024 && bins != 2048 && bins != 4096 && bins != 8192) {
    raise(ErrorCode::kInvalidConfig, "num_of_bins is {}, expected 1024, 2048, 4096 or 8192", bins);
  }
  return std::make_unique<HfmgObserver>(bins);
}

std::unique_ptr<ActivationObserver> read_hfmg_observer(ByteReader& reader) {
  return HfmgObserver::read(reader);
}

}  // namespace amct::quant
