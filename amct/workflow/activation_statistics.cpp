#include "amct/workflow/activation_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "amct/base/log.h"
#include "amct/base/thread_pool.h"

namespace amct::workflow {
namespace {

/// One observer and the engine output that feeds it.
struct Slot {
  std::size_t output = 0;
  std::unique_ptr<quant::ActivationObserver> observer;
};

void observe(quant::ActivationObserver& observer, const ir::Tensor& tensor) {
  if (tensor.type() == ir::DataType::kFloat) {
    observer.observe(tensor.values<float>());
    return;
  }
  const std::vector<float> values = ir::to_float(tensor);
  observer.observe(values);
}

/// The engine on the calling thread, the observers on a pool.
class Collector {
 public:
  Collector(const ir::Model& model, const std::vector<ObservedTensor>& wanted,
            const CollectOptions& options);

  void run(runtime::DataSource& data, std::size_t batches);
  std::vector<TensorStatistics> finish(const std::vector<ObservedTensor>& wanted);

 private:
  void submit(std::vector<ir::Tensor> outputs);

  const CollectOptions& options_;
  std::unique_ptr<runtime::Executor> executor_;
  std::vector<Slot> slots_;
  // Last member: its tasks end before what they use is destroyed.
  ThreadPool pool_;
};

Collector::Collector(const ir::Model& model, const std::vector<ObservedTensor>& wanted,
                     const CollectOptions& options)
    : options_(options), pool_(options.executor.threads) {
  std::vector<std::string> names;
  for (const ObservedTensor& tensor : wanted) names.push_back(tensor.name);
  executor_ = runtime::make_onnxruntime_executor(model, options.executor, names);
  std::map<std::string, std::size_t, std::less<>> positions;
  for (std::size_t i = 0; i < executor_->outputs().size(); ++i)
    positions.emplace(executor_->outputs()[i].name, i);
  for (const ObservedTensor& tensor : wanted)
    slots_.push_back(
        {positions.at(tensor.name), quant::make_observer(tensor.options, options.limits)});
}

/// The largest tensors first, so that the threads end at about the same time.
void Collector::submit(std::vector<ir::Tensor> outputs) {
  std::vector<std::size_t> order(slots_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t slot) {
    return outputs[slots_[slot].output].bytes().size();
  });
  for (const std::size_t slot : order)
    pool_.submit([observer = slots_[slot].observer.get(), tensor = outputs[slots_[slot].output]] {
      observe(*observer, tensor);
    });
}

void Collector::run(runtime::DataSource& data, std::size_t batches) {
  const UsageMeter meter;
  for (std::size_t i = 0; i < batches; ++i) {
    std::vector<ir::Tensor> outputs = executor_->run(data.batch(i));
    pool_.wait();
    submit(std::move(outputs));
    report_batch(options_.progress, meter, i + 1, batches);
  }
  pool_.wait();
}

std::vector<TensorStatistics> Collector::finish(const std::vector<ObservedTensor>& wanted) {
  std::vector<TensorStatistics> statistics(wanted.size());
  parallel_for(pool_, wanted.size(), [&](std::size_t i) {
    const ActivationOptions& options = wanted[i].options;
    statistics[i].tensor = wanted[i];
    statistics[i].result = slots_[i].observer->finish(options.num_bits, options.asymmetric);
    if (options_.histogram_bins > 0)
      statistics[i].histogram = slots_[i].observer->histogram(options_.histogram_bins);
  });
  return statistics;
}

void warn_of_nonfinite(const std::vector<TensorStatistics>& statistics) {
  constexpr std::size_t kNamed = 8;
  std::map<std::string, std::uint64_t> counts;
  for (const TensorStatistics& one : statistics)
    if (one.result.nonfinite_count > 0) counts[one.tensor.name] = one.result.nonfinite_count;
  if (counts.empty()) return;
  std::string text;
  std::size_t named = 0;
  for (const auto& [name, count] : counts) {
    if (named++ == kNamed) break;
    text += fmt::format("{}'{}' ({})", text.empty() ? "" : ", ", name, count);
  }
  if (counts.size() > kNamed) text += fmt::format(" and {} more", counts.size() - kNamed);
  log_warning("NaN or infinite values were ignored in {} tensor(s): {}", counts.size(), text);
}

}  // namespace

CollectedStatistics collect(const ir::Model& model, const std::vector<ObservedTensor>& wanted,
                            runtime::DataSource& data, std::size_t batch_num,
                            const CollectOptions& options) {
  const UsageMeter meter;
  const std::size_t batches = runtime::batches_to_run(data, batch_num);
  Collector collector(model, wanted, options);
  collector.run(data, batches);
  CollectedStatistics collected;
  collected.tensors = collector.finish(wanted);
  collected.batches = batches;
  warn_of_nonfinite(collected.tensors);
  collected.usage = meter.read();
  return collected;
}

}  // namespace amct::workflow
