#include "amct/quant/activation_observer.h"

#include <algorithm>
#include <cmath>

#include "amct/base/assert.h"
#include "amct/base/error.h"
#include "amct/quant/factor.h"
#include "amct/quant/observer_common.h"

namespace amct::quant {

namespace {

std::unique_ptr<ActivationObserver> read_observer(ByteReader reader) {
  const auto kind = reader.get<std::uint8_t>();
  std::unique_ptr<ActivationObserver> observer;
  if (kind == static_cast<std::uint8_t>(ObserverKind::kIfmr)) {
    observer = read_ifmr_observer(reader);
  } else if (kind == static_cast<std::uint8_t>(ObserverKind::kHfmg)) {
    observer = read_hfmg_observer(reader);
  } else {
    raise(ErrorCode::kInvalidData, "unknown kind {}, expected 1 or 2", kind);
  }
  if (reader.left() != 0) {
    raise(ErrorCode::kInvalidData, "{} bytes too many", reader.left());
  }
  return observer;
}

}  // namespace

std::string ActivationResult::reason() const {
  switch (outcome) {
    case ActivationOutcome::kOk:
      return {};
    case ActivationOutcome::kNoData:
      return nonfinite_count == 0
                 ? std::string("no value was observed during calibration")
                 : fmt::format("all {} observed values are NaN or infinite", nonfinite_count);
    case ActivationOutcome::kScaleTooLarge:
      return fmt::format(
          "values span [{}, {}], which needs the scale {}; the device takes at most {} (1 / "
          "FLT_EPSILON)",
          observed_min, observed_max, factor.scale, kMaxScale);
  }
  return {};
}

std::unique_ptr<ActivationObserver> make_observer(const ActivationOptions& options,
                                                  const ObserverLimits& limits) {
  check_activation_bits(options.num_bits);
  if (const auto* ifmr = std::get_if<IfmrOptions>(&options.algorithm)) {
    return make_ifmr_observer(*ifmr, limits);
  }
  return make_hfmg_observer(std::get<HfmgOptions>(options.algorithm));
}

std::unique_ptr<ActivationObserver> deserialize_observer(std::span<const std::byte> bytes) {
  constexpr std::size_t kTail = sizeof(std::uint64_t);
  if (bytes.size() < 2 * kTail || ByteReader(bytes).get<std::uint64_t>() != kStateMagic) {
    raise(ErrorCode::kInvalidData, "not a calibration state ({} bytes); calibrate again",
          bytes.size());
  }
  const auto body = bytes.first(bytes.size() - kTail);
  if (ByteReader(bytes.last(kTail)).get<std::uint64_t>() != byte_checksum(body)) {
    raise(ErrorCode::kInvalidData, "calibration state is damaged (checksum); calibrate again");
  }
  try {
    return read_observer(ByteReader(body.subspan(kTail)));
  } catch (const Error& e) {
    raise(ErrorCode::kInvalidData, "calibration state is damaged ({}); calibrate again", e.what());
  }
}

void check_activation_bits(int num_bits) {
  if (num_bits != 8 && num_bits != 16) {
    raise(ErrorCode::kInvalidConfig, "num_bits of an activation is {}, expected 8 or 16", num_bits);
  }
}

void set_factor(ActivationResult& result, const QuantFactor& factor, int num_bits) {
  result.factor = factor;
  result.clip_min = clip_min_of(factor, num_bits);
  result.clip_max = clip_max_of(factor, num_bits);
  result.outcome =
      is_legal(factor, num_bits) ? ActivationOutcome::kOk : ActivationOutcome::kScaleTooLarge;
}

Histogram resample(std::span<const Piece> pieces, float min, float max, int bins) {
  if (bins < 1) raise(ErrorCode::kUsage, "a histogram needs at least 1 bin, {} asked for", bins);
  Histogram h{min, max, std::vector<std::uint64_t>(static_cast<std::size_t>(bins), 0)};
  const double width = (double{max} - double{min}) / bins;
  // Rounding the running total at each edge keeps the sum of the parts.
  for (const Piece& p : pieces) {
    if (p.count == 0) continue;
    const auto bin_of = [&](double x) {
      const double bin = width > 0.0 ? std::floor((x - min) / width) : 0.0;
      return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(bins - 1)));
    };
    const std::size_t first = bin_of(p.low);
    const std::size_t last = p.high > p.low ? bin_of(p.high) : first;
    std::uint64_t given = 0;
    for (std::size_t bin = first; bin < last; ++bin) {
      const double edge = min + width * static_cast<double>(bin + 1);
      const double share = std::clamp((edge - p.low) / (p.high - p.low), 0.0, 1.0);
      const auto upto = std::min(
          p.count,
          static_cast<std::uint64_t>(std::nearbyint(static_cast<double>(p.count) * share)));
      h.counts[bin] += upto - std::min(given, upto);
      given = std::max(given, upto);
    }
    h.counts[last] += p.count - given;
  }
  return h;
}

}  // namespace amct::quant
