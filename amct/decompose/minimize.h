#pragma once

#include <functional>

namespace amct::decompose {

/// A local minimum of f in [low, high], exact to about `tolerance`, by golden section steps and
/// parabolas (R. Brent, Algorithms for Minimization without Derivatives, 1973, chapter 5).
double minimize(const std::function<double(double)>& f, double low, double high, double tolerance,
                int evaluations);

}  // namespace amct::decompose
