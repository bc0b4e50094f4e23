#include "amct/base/unique_id.h"

#include <fmt/core.h>

#include <random>

namespace amct {

std::string unique_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

}  // namespace amct
