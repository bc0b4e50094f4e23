#include "amct/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>

namespace amct {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int threads) {
  const int count = threads > 0 ? threads : available_cores();
  workers_.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) workers_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::submit(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    ++unfinished_;
  }
  changed_.notify_one();
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unfinished_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    task = nullptr;
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (--unfinished_ == 0) idle_.notify_all();
  }
}

void parallel_for(ThreadPool& pool, std::size_t count,
                  const std::function<void(std::size_t)>& body) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  auto run = [next, count, &body] {
    for (std::size_t i = (*next)++; i < count; i = (*next)++) body(i);
  };
  const std::size_t helpers = std::min(pool.size(), count) - (count > 0 ? 1 : 0);
  for (std::size_t i = 0; i < helpers; ++i) pool.submit(run);
  std::exception_ptr failure;
  try {
    run();
  } catch (...) {
    failure = std::current_exception();
    *next = count;
  }
  pool.wait();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace amct
