#include "amct/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace amct {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: AMCT_ASSERT(%s) failed: a bug in AMCT, please report it\n", file,
               line, condition);
  std::abort();
}

}  // namespace amct
