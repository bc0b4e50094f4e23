#include "amct/workflow/live_comparison.h"

#include <memory>
#include <mutex>
#include <utility>

#include "amct/base/error.h"
#include "amct/base/unique_id.h"
#include "amct/kernels/compare.h"

namespace amct::workflow {
namespace {

struct Mean {
  double sum = 0.0;
  std::size_t count = 0;
};

struct Running {
  CompareOutputs compare;
  std::mutex mutex;
  std::map<std::string, Mean> layers;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Running>> running;  // by id
};

Registry& registry() {
  static Registry all;
  return all;
}

std::shared_ptr<Running> find_running(const std::string& id) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const auto found = all.running.find(id);
  return found != all.running.end() ? found->second : nullptr;
}

double cosine(std::span<const float> original, std::span<const float> quantized) {
  kernels::Comparison sums;
  sums.add(original, quantized);
  return sums.cosine();
}

}  // namespace

LiveComparison::LiveComparison(CompareOutputs compare) : id_(unique_id()) {
  auto running = std::make_shared<Running>();
  running->compare = compare ? std::move(compare) : cosine;
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.running.emplace(id_, std::move(running));
}

LiveComparison::~LiveComparison() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.running.erase(id_);
}

std::map<std::string, double> LiveComparison::means() const {
  const std::shared_ptr<Running> running = find_running(id_);
  const std::lock_guard lock(running->mutex);
  std::map<std::string, double> means;
  for (const auto& [layer, mean] : running->layers)
    means[layer] = mean.sum / static_cast<double>(mean.count);
  return means;
}

void compare_live(const std::string& id, const std::string& layer, std::span<const float> original,
                  std::span<const float> quantized) {
  const std::shared_ptr<Running> running = find_running(id);
  if (running == nullptr)
    raise(ErrorCode::kRuntime, "the search that this model was written for has ended");
  const double likeness = running->compare(original, quantized);
  const std::lock_guard lock(running->mutex);
  Mean& mean = running->layers[layer];
  mean.sum += likeness;
  ++mean.count;
}

}  // namespace amct::workflow
