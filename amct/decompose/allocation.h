#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace amct::decompose {

/// One kernel that competes for the budget of the network.
struct Candidate {
  std::vector<double> squares;  // squared singular values, descending
  std::int64_t cost_as_it_is = 0;
  std::int64_t cost_per_rank = 0;
};

/// Ranks that minimise the sum over the kernels of |error|^2 / |kernel|^2 within the budget, found
/// greedily by error removed per cost; none (rank 0) for a kernel that stays as it is. Ranks are
/// multiples of 16 (or the full rank). Deterministic. None when even the smallest ranks cost more.
std::optional<std::vector<std::int64_t>> allocate_ranks(const std::vector<Candidate>& candidates,
                                                        std::int64_t budget);

/// Cost of all candidates at their smallest.
std::int64_t smallest_cost(const std::vector<Candidate>& candidates);

}  // namespace amct::decompose
