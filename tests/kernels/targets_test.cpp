#include <gtest/gtest.h>

#include "amct/kernels/targets.h"

TEST(Targets, OneCanBeForced) {
  const auto all = amct::kernels::available_targets();
  for (const auto& name : all) {
    amct::kernels::force_target(name);
    EXPECT_EQ(amct::kernels::current_target(), name);
  }
  amct::kernels::force_target("");
  EXPECT_EQ(amct::kernels::available_targets(), all);
}
