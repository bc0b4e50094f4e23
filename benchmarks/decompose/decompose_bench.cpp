// bench_decompose REPEATS OUTPUT KERNEL.npy...: decomposes the kernels [Cout, Cin, KH, KW]
// (float32) as one network with default options. Prints, as JSON, the seconds of the fastest repeat
// (reading of the files included), the peak memory of this process, and rank and relative error of
// each kernel; writes the factors of the first one to OUTPUT (raw float32: first, last) unless that
// is "-".
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "amct/base/log.h"
#include "amct/decompose/network.h"

namespace {

using amct::decompose::Layer;
using amct::decompose::LayerResult;
using amct::decompose::Weights;

struct Array {
  std::array<std::int64_t, 4> shape{};
  std::size_t at = 0;  // of the data in the file
};

// A .npy header as NumPy writes it for a C-ordered float32 array of four dimensions.
Array header_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  unsigned char start[10] = {};
  in.read(reinterpret_cast<char*>(start), 10);
  const std::size_t length = start[8] + 256U * start[9];
  std::string text(length, ' ');
  in.read(text.data(), static_cast<std::streamsize>(length));
  Array out;
  out.at = 10 + length;
  const std::size_t shape = text.find("'shape': (");
  if (!in || text.find("'<f4'") == std::string::npos || shape == std::string::npos ||
      std::sscanf(text.c_str() + shape, "'shape': (%ld, %ld, %ld, %ld)", &out.shape[0],
                  &out.shape[1], &out.shape[2], &out.shape[3]) != 4) {
    std::fprintf(stderr, "%s: not a float32 array of four dimensions\n", path.c_str());
    std::exit(1);
  }
  return out;
}

Layer layer_of(const std::string& path) {
  const Array array = header_of(path);
  Layer out;
  out.name = path;
  out.shape = {array.shape[0], array.shape[1], array.shape[2], array.shape[3]};
  out.read_weights = [path, array] {
    const std::int64_t n = array.shape[0] * array.shape[1] * array.shape[2] * array.shape[3];
    std::vector<float> values(static_cast<std::size_t>(n));
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(array.at));
    in.read(reinterpret_cast<char*>(values.data()), n * 4);
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

void write(std::ofstream& out, const Weights& weights) {
  const auto& values = std::get<std::vector<float>>(weights);
  out.write(reinterpret_cast<const char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
}

int run(int argc, char** argv) {
  if (std::getenv("AMCT_BENCH_LOG") != nullptr) {
    amct::set_log_sink([](amct::LogLevel, std::string_view line) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    });
  }
  std::vector<Layer> layers;
  for (int i = 4; i < argc; ++i) layers.push_back(layer_of(argv[i]));
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
  if (std::string(argv[3]) != "-" && results.at(0).factors) {
    std::ofstream out(argv[3], std::ios::binary);
    write(out, results[0].factors->first);
    write(out, results[0].factors->last);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s THREADS REPEATS OUTPUT KERNEL.npy...\n", argv[0]);
    return 2;
  }
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
