#pragma once

#include <cstddef>
#include <functional>

#include "amct/base/thread_pool.h"

namespace amct::decompose {

/// The threads that one layer may use: those of a pool, or only the calling one (null).
using Workers = ThreadPool*;

inline void for_each(Workers workers, std::size_t count,
                     const std::function<void(std::size_t)>& body) {
  if (workers != nullptr) {
    parallel_for(*workers, count, body);
  } else {
    for (std::size_t i = 0; i < count; ++i) body(i);
  }
}

}  // namespace amct::decompose
