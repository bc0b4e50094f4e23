#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "amct/decompose/network.h"
#include "amct/decompose/workers.h"

namespace amct::decompose {

/// One piece of work of a known size.
struct Job {
  std::int64_t elements = 0;  // of the kernel
  std::string name;
  std::function<void(Workers)> run;
};

/// Runs all jobs: small ones side by side on the threads, then large ones one after the other with
/// all threads each. `progress` is called from the calling thread only, with (done before, all,
/// name of the next). The first exception of a job or of `progress` ends the run. Sets the threads
/// of BLAS, so that runs of several threads wait for each other.
void run_jobs(const std::vector<Job>& jobs, int threads, const Progress& progress);

}  // namespace amct::decompose
