#pragma once

#include <gtest/gtest.h>

#include "amct/passes/passes.h"
#include "interpreter.h"
#include "model_builder.h"

namespace amct::passes {

/// Runs one pass and checks what holds for every pass: the graph stays sound, names of inputs and
/// outputs stay, and the outputs differ by no more than float32 rounding. Returns the changes.
inline std::size_t run_checked(ModelBuilder& build, const PassPtr& pass) {
  const auto names = [](const std::vector<ir::Value*>& values) {
    std::vector<std::string> result;
    for (const ir::Value* value : values) result.push_back(value->name());
    return result;
  };
  ir::verify(build.graph());
  const auto inputs = names(build.graph().inputs());
  const auto outputs = names(build.graph().outputs());
  const auto before = interpret(build.graph());
  const std::size_t changes = pass->run(build.model);
  ir::verify(build.graph());
  EXPECT_EQ(names(build.graph().inputs()), inputs);
  EXPECT_EQ(names(build.graph().outputs()), outputs);
  EXPECT_LT(difference(interpret(build.graph()), before), 1e-5);
  EXPECT_EQ(pass->run(build.model), 0U) << "a second run must find nothing";
  return changes;
}

}  // namespace amct::passes
