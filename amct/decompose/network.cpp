#include "amct/decompose/network.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "amct/base/error.h"
#include "amct/decompose/allocation.h"
#include "amct/decompose/cost.h"
#include "amct/decompose/layer_work.h"
#include "amct/decompose/pattern.h"
#include "amct/decompose/rank.h"
#include "amct/decompose/schedule.h"

namespace amct::decompose {
namespace {

bool is_budget(RankRule rule) { return rule == RankRule::kMacs || rule == RankRule::kParams; }

void check(const Options& o) {
  if (!(o.min_speedup >= 0) || std::isinf(o.min_speedup)) {
    raise(ErrorCode::kUsage, "min_speedup is {}; it has to be a number from 0 on", o.min_speedup);
  }
  if (o.rule == RankRule::kEvbmf) return;
  if (o.rule == RankRule::kRank) {
    if (!(o.value >= 1) || o.value != std::floor(o.value)) {
      raise(ErrorCode::kUsage, "the rank is {}; it has to be a whole number from 1 on", o.value);
    }
  } else if (!(o.value > 0 && o.value <= 1)) {
    raise(ErrorCode::kUsage, "the share is {}; it has to be above 0 and at most 1", o.value);
  }
}

// A kernel to decompose, and the layers that have it.
struct Unit {
  std::vector<std::size_t> members;
  Mode mode = Mode::kUnchange;
};

class Network {
 public:
  Network(std::span<const Layer> layers, const Options& options, const Progress& progress,
          bool want_factors)
      : layers_(layers), options_(options), progress_(progress), want_factors_(want_factors) {
    check(options);
    for (const Layer& layer : layers) {
      LayerResult& result = results_.emplace_back();
      result.name = layer.name;
      result.before = result.after = cost_before(layer);
      if (choose(layer, &result)) add_to_unit(results_.size() - 1);
    }
  }

  std::vector<LayerResult> run() {
    std::vector<std::int64_t> ranks;
    if (is_budget(options_.rule)) ranks = allocate();
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (!ranks.empty() && ranks[i] == 0) {
        leave(units_[i], zero_.at(i) ? kZeroKernel : "the budget leaves it as it is");
        continue;
      }
      LayerTask task = task_of(units_[i]);
      if (!ranks.empty()) {
        task.rule = RankRule::kRank;
        task.value = static_cast<double>(ranks[i]);
      }
      jobs.push_back(job(units_[i], [this, i, task](Workers workers) {
        finish(units_[i], decompose_layer(task, workers));
      }));
    }
    run_jobs(jobs, options_.threads, progress_);
    return std::move(results_);
  }

 private:
  static constexpr const char* kZeroKernel = "zero kernel";

  bool choose(const Layer& layer, LayerResult* result) const {
    if (matches_any(options_.skip, layer.name)) {
      result->reason = "it is on the list of layers to skip";
      return false;
    }
    if (!layer.refusal.empty()) {
      result->reason = layer.refusal;
      return false;
    }
    Eligibility eligibility = choose_mode(layer.shape);
    result->mode = eligibility.mode;
    result->reason = std::move(eligibility.reason);
    if (eligibility.mode == Mode::kUnchange) return false;
    result->full_rank = unfolded_size(layer.shape).rows;
    return true;
  }

  // Layers share a unit when weight and shape are the same; their strides may differ.
  void add_to_unit(std::size_t index) {
    const Layer& layer = layers_[index];
    if (!layer.weight_id.empty()) {
      const ConvShape& s = layer.shape;
      const auto [at, is_new] = shared_.try_emplace(
          {layer.weight_id, s.out_channels, s.in_channels, s.kernel_h, s.kernel_w}, units_.size());
      if (!is_new) {
        units_[at->second].members.push_back(index);
        return;
      }
    }
    units_.push_back({{index}, results_[index].mode});
  }

  [[nodiscard]] const Layer& layer_of(const Unit& unit) const {
    return layers_[unit.members.front()];
  }

  [[nodiscard]] double speedup(const Unit& unit, std::int64_t rank) const {
    double before = 0;
    double after = 0;
    for (const std::size_t member : unit.members) {
      before += static_cast<double>(results_[member].before.macs);
      after += static_cast<double>(cost_after(layers_[member], unit.mode, rank).macs);
    }
    return before / after;
  }

  [[nodiscard]] LayerTask task_of(const Unit& unit) const {
    LayerTask task;
    task.layer = &layer_of(unit);
    task.mode = unit.mode;
    task.rule = options_.rule;
    task.value = options_.value;
    task.want_factors = want_factors_;
    task.accepts = [this, &unit](std::int64_t rank) {
      return speedup(unit, rank) >= options_.min_speedup;
    };
    return task;
  }

  [[nodiscard]] Job job(const Unit& unit, std::function<void(Workers)> run) const {
    const Unfolded size = unfolded_size(layer_of(unit).shape);
    return {size.rows * size.columns, layer_of(unit).name, std::move(run)};
  }

  void leave(const Unit& unit, const std::string& reason) {
    for (const std::size_t member : unit.members) {
      results_[member].mode = Mode::kUnchange;
      results_[member].reason = reason;
    }
  }

  void finish(const Unit& unit, LayerOutcome outcome) {
    if (outcome.zero_kernel) return leave(unit, kZeroKernel);
    const double gain = speedup(unit, outcome.rank);
    if (gain < options_.min_speedup) {
      return leave(unit,
                   fmt::format("at rank {} its multiplications would fall by a factor of {:.2f} "
                               "only; at least {:g} is wanted",
                               outcome.rank, gain, options_.min_speedup));
    }
    for (const std::size_t member : unit.members) {
      LayerResult& result = results_[member];
      result.rank = outcome.rank;
      result.after = cost_after(layers_[member], unit.mode, outcome.rank);
      result.relative_error = outcome.relative_error;
      result.output_error = outcome.output_error;
      if (member != unit.members.front()) result.shares_with = unit.members.front();
    }
    results_[unit.members.front()].factors = std::move(outcome.factors);
  }

  // Ranks of the units within the budget of the network; 0 for those that stay as they are.
  std::vector<std::int64_t> allocate() {
    std::vector<Candidate> all(units_.size());
    zero_.assign(units_.size(), false);
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      jobs.push_back(job(units_[i], [this, i, &all](Workers workers) {
        all[i].squares = spectrum_of(layer_of(units_[i]), units_[i].mode, workers);
      }));
    }
    run_jobs(jobs, options_.threads, {});
    std::vector<std::size_t> units;
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      zero_[i] = all[i].squares.empty();
      if (zero_[i]) continue;
      add_costs(units_[i], &all[i]);
      units.push_back(i);
      candidates.push_back(std::move(all[i]));
    }
    const std::vector<std::int64_t> found = within_budget(candidates);
    std::vector<std::int64_t> ranks(units_.size(), 0);
    for (std::size_t i = 0; i < units.size(); ++i) ranks[units[i]] = found[i];
    return ranks;
  }

  // Weights that several layers share count once, their multiplications each time.
  void add_costs(const Unit& unit, Candidate* candidate) const {
    for (const std::size_t member : unit.members) {
      const Cost before = results_[member].before;
      const Cost one = cost_after(layers_[member], unit.mode, 1);
      if (options_.rule == RankRule::kMacs) {
        candidate->cost_as_it_is += before.macs;
        candidate->cost_per_rank += one.macs;
      } else {
        candidate->cost_as_it_is = before.params;
        candidate->cost_per_rank = one.params;
      }
    }
  }

  [[nodiscard]] std::vector<std::int64_t> within_budget(
      const std::vector<Candidate>& candidates) const {
    const auto total = static_cast<double>(cost_of_all());
    double fixed = total;
    for (const Candidate& c : candidates) fixed -= static_cast<double>(c.cost_as_it_is);
    const auto ranks = allocate_ranks(
        candidates, static_cast<std::int64_t>(std::floor(options_.value * total - fixed)));
    if (!ranks) {
      raise(ErrorCode::kUsage,
            "the budget is {:.4g} of all {}, but with every layer at its smallest rank {:.4g} are "
            "left; raise it",
            options_.value, options_.rule == RankRule::kMacs ? "multiplications" : "weights",
            total > 0 ? (fixed + static_cast<double>(smallest_cost(candidates))) / total : 0.0);
    }
    return *ranks;
  }

  [[nodiscard]] std::int64_t cost_of_all() const {
    std::int64_t sum = 0;
    std::map<std::string, bool> seen;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (options_.rule == RankRule::kMacs) {
        sum += results_[i].before.macs;
      } else if (layers_[i].weight_id.empty() || seen.try_emplace(layers_[i].weight_id).second) {
        sum += results_[i].before.params;
      }
    }
    return sum;
  }

  std::span<const Layer> layers_;
  const Options& options_;
  const Progress& progress_;
  bool want_factors_;
  std::vector<LayerResult> results_;
  std::vector<Unit> units_;
  std::vector<bool> zero_;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>,
           std::size_t>
      shared_;
};

}  // namespace

std::vector<LayerResult> decompose_network(std::span<const Layer> layers, const Options& options,
                                           const Progress& progress) {
  return Network(layers, options, progress, true).run();
}

std::vector<LayerResult> plan_network(std::span<const Layer> layers, const Options& options,
                                      const Progress& progress) {
  return Network(layers, options, progress, false).run();
}

}  // namespace amct::decompose
