#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amct/quant/activation_observer.h"
#include "amct/quant/byte_stream.h"

// Parts that the observers share. Private to amct/quant.
namespace amct::quant {

inline constexpr std::uint64_t kStateMagic = 0x3153424F54434D41U;  // "AMCTOBS1"
enum class ObserverKind : std::uint8_t { kIfmr = 1, kHfmg = 2 };

std::unique_ptr<ActivationObserver> make_ifmr_observer(const IfmrOptions& options,
                                                       const ObserverLimits& limits);
std::unique_ptr<ActivationObserver> make_hfmg_observer(const HfmgOptions& options);
std::unique_ptr<ActivationObserver> read_ifmr_observer(ByteReader& reader);
std::unique_ptr<ActivationObserver> read_hfmg_observer(ByteReader& reader);

/// Throws Error (kInvalidConfig) unless num_bits is 8 or 16.
void check_activation_bits(int num_bits);

/// Fills factor, clips and outcome of a result whose counts and range are already set.
void set_factor(ActivationResult& result, const QuantFactor& factor, int num_bits);

/// Counts of a bin that covers [low, high).
struct Piece {
  double low = 0.0;
  double high = 0.0;
  std::uint64_t count = 0;
};

/// Spreads ordered pieces over equal bins of [min, max]; the total is kept.
Histogram resample(std::span<const Piece> pieces, float min, float max, int bins);

}  // namespace amct::quant
