#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace amct {

/// A fixed set of worker threads with one queue. Exceptions of a task reach the caller of wait().
class ThreadPool {
 public:
  /// threads <= 0: one per core of the machine that this process may use.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t size() const { return workers_.size(); }
  void submit(std::function<void()> task);
  /// Returns when every submitted task has ended; rethrows the first exception of one of them.
  void wait();

 private:
  void work();

  std::vector<std::thread> workers_;
  std::deque<std::function<void()>> tasks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  std::size_t unfinished_ = 0;
  std::exception_ptr failure_;
  bool stopping_ = false;
};

/// Calls body(i) for i in [0, count) on the pool and the calling thread; returns when all ended.
/// Safe only from outside the pool's own tasks.
void parallel_for(ThreadPool& pool, std::size_t count,
                  const std::function<void(std::size_t)>& body);

/// Cores that this process may run on, at least 1.
int available_cores();

}  // namespace amct
