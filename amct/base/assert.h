#pragma once

namespace amct {
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);
}

/// Checks a promise of our own code (never of input). Active in builds with AMCT_ASSERTS.
#ifdef AMCT_ENABLE_ASSERTS
#define AMCT_ASSERT(condition) \
  ((condition) ? void(0) : ::amct::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define AMCT_ASSERT(condition) ((void)sizeof(condition))
#endif
