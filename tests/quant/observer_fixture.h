#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "amct/quant/activation_observer.h"

namespace amct::quant {

// The three ways to observe that a user can meet.
enum class Mode { kIfmrExact, kIfmrHistogram, kHfmg };

class Observer : public ::testing::TestWithParam<Mode> {
 protected:
  static std::unique_ptr<ActivationObserver> make() {
    ActivationOptions o;
    if (GetParam() == Mode::kHfmg) o.algorithm = HfmgOptions{};
    return make_observer(o, {GetParam() == Mode::kIfmrExact ? std::size_t{1} << 30 : 0});
  }
  static ActivationResult of(const std::vector<float>& x, int bits = 8, bool asymmetric = true) {
    const auto observer = make();
    observer->observe(x);
    return observer->finish(bits, asymmetric);
  }
};

/// Name of a mode for the names of tests.
inline std::string mode_name(const ::testing::TestParamInfo<Mode>& info) {
  return info.param == Mode::kIfmrExact       ? "IfmrExact"
         : info.param == Mode::kIfmrHistogram ? "IfmrHistogram"
                                              : "Hfmg";
}

inline const auto kAllModes =
    ::testing::Values(Mode::kIfmrExact, Mode::kIfmrHistogram, Mode::kHfmg);

}  // namespace amct::quant
