#include "golden.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace amct::test {
namespace {

float half_to_float(std::uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const int mantissa = h & 1023;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return static_cast<float>((h & 0x8000) != 0 ? -size : size);
}

template <typename T, typename Convert>
std::vector<float> convert(const std::string& bytes, std::size_t at, Convert to_float) {
  std::vector<float> out((bytes.size() - at) / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + at + i * sizeof(T), sizeof(T));
    out[i] = to_float(value);
  }
  return out;
}

}  // namespace

std::vector<float> load_npy(const std::string& path) {
  std::ifstream in(std::string(AMCT_TEST_DIR "/golden/") + path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0) {
    throw std::runtime_error("cannot read " + path);
  }
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  const std::string text = bytes.substr(10, header);
  const std::size_t at = 10 + header;
  const auto plain = [](auto v) { return static_cast<float>(v); };
  if (text.find("'<f4'") != std::string::npos) return convert<float>(bytes, at, plain);
  if (text.find("'<f2'") != std::string::npos) {
    return convert<std::uint16_t>(bytes, at, half_to_float);
  }
  if (text.find("'|i1'") != std::string::npos) return convert<std::int8_t>(bytes, at, plain);
  if (text.find("'<i4'") != std::string::npos) return convert<std::int32_t>(bytes, at, plain);
  throw std::runtime_error("unknown type in " + path + ": " + text);
}

nlohmann::json load_cases(const std::string& family) {
  std::ifstream in(AMCT_TEST_DIR "/golden/" + family + ".json");
  return nlohmann::json::parse(in).at("cases");
}

}  // namespace amct::test
