#include "amct/decompose/allocation.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace amct::decompose {
namespace {

constexpr std::int64_t kStep = 16;

struct Choice {
  std::int64_t rank = 0;  // 0: stays as it is
  std::int64_t cost = 0;
  double error = 0;
};

// What a kernel can become, by rising cost and falling error; the last is to stay as it is.
std::vector<Choice> choices_of(const Candidate& c) {
  const double total = std::accumulate(c.squares.rbegin(), c.squares.rend(), 0.0);
  const auto full = static_cast<std::int64_t>(c.squares.size());
  std::vector<double> tail(c.squares.size() + 1);
  for (std::size_t i = c.squares.size(); i > 0; --i) tail[i - 1] = tail[i] + c.squares[i - 1];
  std::vector<Choice> out;
  for (std::int64_t rank = std::min(kStep, full);; rank = std::min(rank + kStep, full)) {
    const std::int64_t cost = rank * c.cost_per_rank;
    if (cost >= c.cost_as_it_is) break;
    out.push_back({rank, cost, tail[static_cast<std::size_t>(rank)] / total});
    if (rank == full) break;
  }
  out.push_back({0, c.cost_as_it_is, 0});
  return out;
}

double slope(const Choice& from, const Choice& to) {
  return (from.error - to.error) / static_cast<double>(to.cost - from.cost);
}

// Indices of the choices on the lower convex hull of (cost, error): from one to the next, the error
// removed per cost falls.
std::vector<std::size_t> hull(const std::vector<Choice>& choices) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    while (out.size() > 1 && slope(choices[out[out.size() - 2]], choices[out.back()]) <=
                                 slope(choices[out.back()], choices[i])) {
      out.pop_back();
    }
    out.push_back(i);
  }
  return out;
}

struct Step {
  double gain = 0;
  std::size_t kernel = 0;
  std::size_t from = 0;  // choices
  std::size_t to = 0;
};

}  // namespace

std::int64_t smallest_cost(const std::vector<Candidate>& candidates) {
  std::int64_t sum = 0;
  for (const Candidate& c : candidates) sum += choices_of(c).front().cost;
  return sum;
}

std::optional<std::vector<std::int64_t>> allocate_ranks(const std::vector<Candidate>& candidates,
                                                        std::int64_t budget) {
  std::vector<std::vector<Choice>> choices;
  std::vector<Step> steps;
  for (const Candidate& c : candidates) {
    choices.push_back(choices_of(c));
    const std::vector<Choice>& own = choices.back();
    budget -= own.front().cost;
    const std::vector<std::size_t> corners = hull(own);
    for (std::size_t i = 1; i < corners.size(); ++i) {
      steps.push_back({slope(own[corners[i - 1]], own[corners[i]]), choices.size() - 1,
                       corners[i - 1], corners[i]});
    }
  }
  if (budget < 0) return std::nullopt;
  std::ranges::sort(steps, [](const Step& a, const Step& b) {
    return std::tuple(-a.gain, a.kernel, a.from) < std::tuple(-b.gain, b.kernel, b.from);
  });
  std::vector<std::size_t> chosen(candidates.size(), 0);
  for (const Step& step : steps) {
    const std::vector<Choice>& own = choices[step.kernel];
    if (chosen[step.kernel] != step.from) continue;  // an earlier step of it did not fit
    // As far along the step as the budget goes.
    std::size_t to = step.to;
    while (own[to].cost - own[step.from].cost > budget) --to;
    budget -= own[to].cost - own[step.from].cost;
    chosen[step.kernel] = to;
  }
  std::vector<std::int64_t> ranks;
  for (std::size_t i = 0; i < choices.size(); ++i) ranks.push_back(choices[i][chosen[i]].rank);
  return ranks;
}

}  // namespace amct::decompose
