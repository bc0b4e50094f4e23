#include "amct/workflow/activation_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
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

/// Two engine runs at a time, each with half of the threads: cores that one run leaves idle work
/// for the other. Observers take the batches in order, all threads of the pool on one batch.
class Collector {
 public:
  Collector(const ir::Model& model, const std::vector<ObservedTensor>& wanted,
            const CollectOptions& options, std::size_t batches);

  void run(runtime::DataSource& data);
  std::vector<TensorStatistics> finish(const std::vector<ObservedTensor>& wanted);

 private:
  void work(runtime::DataSource& data);
  /// Reads, runs and observes one batch; false when there is none left.
  bool next_batch(runtime::DataSource& data);
  void observe_in_turn(std::size_t batch, const std::vector<ir::Tensor>& outputs);
  void fail();
  void report_progress(const UsageMeter& meter);

  const CollectOptions& options_;
  std::size_t batches_;
  std::size_t runs_at_once_ = 1;
  std::unique_ptr<runtime::Executor> executor_;
  std::vector<Slot> slots_;
  std::mutex data_mutex_;
  std::size_t next_ = 0;  // batch to be read; guarded by data_mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t observed_ = 0;    // batches; guarded by mutex_
  std::exception_ptr failure_;  // guarded by mutex_
  std::unique_ptr<ThreadPool> pool_;
};

Collector::Collector(const ir::Model& model, const std::vector<ObservedTensor>& wanted,
                     const CollectOptions& options, std::size_t batches)
    : options_(options), batches_(batches) {
  std::vector<std::string> names;
  for (const ObservedTensor& tensor : wanted) names.push_back(tensor.name);
  const int threads = options.executor.threads > 0 ? options.executor.threads : available_cores();
  runtime::ExecutorOptions executor_options = options.executor;
  if (threads > 1 && batches > 1) runs_at_once_ = 2;
  executor_options.threads = threads / static_cast<int>(runs_at_once_);
  executor_ = runtime::make_onnxruntime_executor(model, executor_options, names);
  pool_ = std::make_unique<ThreadPool>(std::max(1, threads - 1));
  std::map<std::string, std::size_t, std::less<>> positions;
  for (std::size_t i = 0; i < executor_->outputs().size(); ++i)
    positions.emplace(executor_->outputs()[i].name, i);
  for (const ObservedTensor& tensor : wanted)
    slots_.push_back(
        {positions.at(tensor.name), quant::make_observer(tensor.options, options.limits)});
}

void Collector::observe_in_turn(std::size_t batch, const std::vector<ir::Tensor>& outputs) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return observed_ == batch || failure_; });
    if (failure_) return;
  }
  // The largest tensors first, so that the threads end at about the same time.
  std::vector<std::size_t> order(slots_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t slot) {
    return outputs[slots_[slot].output].bytes().size();
  });
  parallel_for(*pool_, order.size(), [&](std::size_t i) {
    const Slot& slot = slots_[order[i]];
    observe(*slot.observer, outputs[slot.output]);
  });
  {
    std::lock_guard lock(mutex_);
    ++observed_;
  }
  changed_.notify_all();
}

bool Collector::next_batch(runtime::DataSource& data) {
  std::size_t batch = 0;
  runtime::Feed feed;
  {
    std::lock_guard lock(data_mutex_);
    if (next_ == batches_) return false;
    batch = next_++;
    feed = data.batch(batch);
  }
  observe_in_turn(batch, executor_->run(feed));
  std::lock_guard lock(mutex_);
  return !failure_;
}

void Collector::fail() {
  {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  changed_.notify_all();
}

void Collector::work(runtime::DataSource& data) {
  try {
    while (next_batch(data)) continue;
  } catch (...) {
    fail();
  }
}

void Collector::report_progress(const UsageMeter& meter) {
  for (std::size_t done = 0; done < batches_;) {
    std::size_t observed = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return observed_ > done || failure_; });
      if (failure_) return;
      observed = observed_;
    }
    while (done < observed) report_batch(options_.progress, meter, ++done, batches_);
  }
}

void Collector::run(runtime::DataSource& data) {
  const UsageMeter meter;
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < runs_at_once_; ++i) workers.emplace_back([&] { work(data); });
  try {
    report_progress(meter);
  } catch (...) {
    fail();
  }
  workers.clear();
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<TensorStatistics> Collector::finish(const std::vector<ObservedTensor>& wanted) {
  std::vector<TensorStatistics> statistics(wanted.size());
  parallel_for(*pool_, wanted.size(), [&](std::size_t i) {
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
  Collector collector(model, wanted, options, batches);
  collector.run(data);
  CollectedStatistics collected;
  collected.tensors = collector.finish(wanted);
  collected.batches = batches;
  warn_of_nonfinite(collected.tensors);
  collected.usage = meter.read();
  return collected;
}

}  // namespace amct::workflow
