#include "amct/decompose/minimize.h"

#include <cmath>
#include <limits>

namespace amct::decompose {
namespace {

struct Point {
  double x = 0;
  double f = 0;
};

// Offset from `best` to the lowest point of the parabola through three points; 0 when it is not
// inside (low, high) or not shorter than half of `before`, the step before the last.
double parabola_step(const Point& best, const Point& second, const Point& third, double low,
                     double high, double before) {
  const double r = (best.x - second.x) * (best.f - third.f);
  double q = (best.x - third.x) * (best.f - second.f);
  double p = (best.x - third.x) * q - (best.x - second.x) * r;
  q = 2 * (q - r);
  if (q > 0) p = -p;
  q = std::fabs(q);
  const bool good = std::fabs(p) < std::fabs(0.5 * q * before) && p > q * (low - best.x) &&
                    p < q * (high - best.x);
  return good ? p / q : 0;
}

}  // namespace

double minimize(const std::function<double(double)>& f, double low, double high, double tolerance,
                int evaluations) {
  const double golden = 0.5 * (3 - std::sqrt(5.0));
  const double relative = std::sqrt(std::numeric_limits<double>::epsilon());
  const auto point = [&f](double x) { return Point{x, f(x)}; };
  Point best = point(low + golden * (high - low));
  Point second = best;
  Point third = best;
  double step = 0;
  double before = 0;
  for (int i = 1; i < evaluations; ++i) {
    const double middle = 0.5 * (low + high);
    const double least = relative * std::fabs(best.x) + tolerance / 3;
    if (std::fabs(best.x - middle) <= 2 * least - 0.5 * (high - low)) break;
    double next = 0;
    if (std::fabs(before) > least) {
      next = parabola_step(best, second, third, low, high, before);
    }
    if (next != 0) {
      before = step;
      const double x = best.x + next;
      // Never closer to the ends than the tolerance.
      if (x - low < 2 * least || high - x < 2 * least) next = middle >= best.x ? least : -least;
    } else {
      before = best.x >= middle ? low - best.x : high - best.x;
      next = golden * before;
    }
    step = next;
    if (std::fabs(next) < least) next = next >= 0 ? least : -least;
    const Point now = point(best.x + next);
    if (now.f <= best.f) {
      (now.x >= best.x ? low : high) = best.x;
      third = second;
      second = best;
      best = now;
    } else {
      (now.x < best.x ? low : high) = now.x;
      if (now.f <= second.f || second.x == best.x) {
        third = second;
        second = now;
      } else if (now.f <= third.f || third.x == best.x || third.x == second.x) {
        third = now;
      }
    }
  }
  return best.x;
}

}  // namespace amct::decompose
