#include "kernels.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace amct::decompose::test {

std::vector<double> jacobi_singular_values(std::vector<std::vector<double>> rows) {
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  bool rotated = true;
  for (int sweep = 0; sweep < 60 && rotated; ++sweep) {
    rotated = false;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      for (std::size_t j = i + 1; j < rows.size(); ++j) {
        const double ii = dot(rows[i], rows[i]);
        const double jj = dot(rows[j], rows[j]);
        const double ij = dot(rows[i], rows[j]);
        if (std::fabs(ij) <= 1e-13 * std::sqrt(ii * jj)) continue;
        rotated = true;
        const double theta = 0.5 * std::atan2(2 * ij, ii - jj);
        const double c = std::cos(theta);
        const double s = std::sin(theta);
        for (std::size_t k = 0; k < rows[i].size(); ++k) {
          const double a = rows[i][k];
          const double b = rows[j][k];
          rows[i][k] = c * a + s * b;
          rows[j][k] = c * b - s * a;
        }
      }
    }
  }
  std::vector<double> out;
  for (const auto& row : rows) out.push_back(std::sqrt(dot(row, row)));
  std::ranges::sort(out, std::greater{});
  return out;
}

}  // namespace amct::decompose::test
