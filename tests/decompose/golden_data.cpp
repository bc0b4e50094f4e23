#include "golden_data.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace amct::test {
namespace {

double half_to_double(std::uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (h & 0x8000) != 0 ? -size : size;
}

template <typename T, typename Convert>
std::vector<double> convert(const std::string& bytes, std::size_t at, Convert to_double) {
  std::vector<double> out((bytes.size() - at) / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + at + i * sizeof(T), sizeof(T));
    out[i] = to_double(value);
  }
  return out;
}

}  // namespace

std::vector<double> load_npy(const std::string& path) {
  std::ifstream in(std::string(AMCT_TEST_DIR "/golden/") + path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0) {
    throw std::runtime_error("cannot read " + path);
  }
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  const std::string text = bytes.substr(10, header);
  const auto plain = [](auto v) { return static_cast<double>(v); };
  if (text.find("'<f8'") != std::string::npos) return convert<double>(bytes, 10 + header, plain);
  if (text.find("'<f4'") != std::string::npos) return convert<float>(bytes, 10 + header, plain);
  if (text.find("'<f2'") != std::string::npos) {
    return convert<std::uint16_t>(bytes, 10 + header, half_to_double);
  }
  throw std::runtime_error("unknown type in " + path + ": " + text);
}

nlohmann::json load_cases(const std::string& family) {
  std::ifstream in(AMCT_TEST_DIR "/golden/" + family + ".json");
  return nlohmann::json::parse(in).at("cases");
}

}  // namespace amct::test
