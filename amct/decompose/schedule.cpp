#include "amct/decompose/schedule.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "amct/base/log.h"
#include "amct/kernels/linear_algebra.h"

namespace amct::decompose {
namespace {

// Below, the threads are better used on several kernels than on one.
constexpr std::int64_t kSmall = std::int64_t{1} << 20;

class Run {
 public:
  Run(const std::vector<Job>& jobs, int threads, const Progress& progress)
      : progress_(progress), pool_(threads), threads_(static_cast<int>(pool_.size())) {
    for (const Job& job : jobs) (job.elements < kSmall ? small_ : large_).push_back(&job);
  }

  void small() {
    const kernels::BlasThreads one(1);
    try {
      for (const Job* job : small_) pool_.submit([this, job] { attempt(*job); });
      for (std::size_t i = 0; i < small_.size(); ++i) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return finished_ > i || stopped_; });
        if (stopped_) break;
        lock.unlock();
        tell(i + 1 < small_.size() ? small_[i + 1] : first_large());
      }
    } catch (...) {
      stopped_ = true;
      pool_.wait();
      throw;
    }
    pool_.wait();
  }

  void large() {
    const kernels::BlasThreads all(threads_);
    log_debug("linear algebra: {}", kernels::blas_description());
    for (std::size_t i = 0; i < large_.size(); ++i) {
      large_[i]->run(&pool_);
      tell(i + 1 < large_.size() ? large_[i + 1] : nullptr);
    }
  }

 private:
  void attempt(const Job& job) {
    if (stopped_) return;
    try {
      job.run(nullptr);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
      throw;
    }
    const std::lock_guard lock(mutex_);
    ++finished_;
    changed_.notify_all();
  }

  [[nodiscard]] const Job* first_large() const { return large_.empty() ? nullptr : large_.front(); }

  void tell(const Job* next) {
    ++told_;
    if (progress_) progress_(told_, small_.size() + large_.size(), next ? next->name : "");
  }

  const Progress& progress_;
  ThreadPool pool_;
  int threads_;
  std::vector<const Job*> small_;
  std::vector<const Job*> large_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t finished_ = 0;
  std::size_t told_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

void run_jobs(const std::vector<Job>& jobs, int threads, const Progress& progress) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  Run run(jobs, threads, progress);
  run.small();
  run.large();
}

}  // namespace amct::decompose
