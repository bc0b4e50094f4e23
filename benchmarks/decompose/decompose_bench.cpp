// bench_decompose THREADS REPEATS KERNEL.npy...: decomposes the kernels [Cout, Cin, KH, KW]
// (float32) as one network with default options. Prints, as JSON, the seconds of the fastest repeat
// (reading of the files included), the peak memory of this process, and rank and relative error of
// each.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amct/decompose/network.h"
#include "amct/runtime/npy.h"

namespace {

using amct::decompose::Layer;
using amct::decompose::LayerResult;
using amct::decompose::Weights;
using amct::runtime::NpyHeader;

NpyHeader header_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> start(amct::runtime::kMaxNpyHeader);
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::span read(start.data(), static_cast<std::size_t>(in.gcount()));
  return amct::runtime::parse_npy_header(std::as_bytes(read), path);
}

Layer layer_of(const std::string& path) {
  const NpyHeader header = header_of(path);
  Layer out;
  out.name = path;
  out.shape = {header.dims.at(0), header.dims.at(1), header.dims.at(2), header.dims.at(3)};
  out.read_weights = [path, header] {
    std::vector<float> values(header.data_bytes() / sizeof(float));
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(header.data_offset));
    in.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(header.data_bytes()));
    return Weights(std::move(values));
  };
  return out;
}

long peak_kilobytes() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

int run(int argc, char** argv) {
  std::vector<Layer> layers;
  for (int i = 3; i < argc; ++i) layers.push_back(layer_of(argv[i]));
  double best = std::numeric_limits<double>::infinity();
  amct::decompose::Options options;
  options.threads = std::atoi(argv[1]);
  std::vector<LayerResult> results;
  for (int i = std::atoi(argv[2]); i > 0; --i) {
    results.clear();
    const auto start = std::chrono::steady_clock::now();
    results = amct::decompose::decompose_network(layers, options);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("{\"seconds\": %.6f, \"peak_bytes\": %ld, \"layers\": [", best,
              peak_kilobytes() * 1024);
  for (const LayerResult& r : results) {
    std::printf("%s{\"rank\": %ld, \"error\": %.9g}", &r == results.data() ? "" : ", ", r.rank,
                r.relative_error);
  }
  std::printf("]}\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s THREADS REPEATS KERNEL.npy...\n", argv[0]);
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
