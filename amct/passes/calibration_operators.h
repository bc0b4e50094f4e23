#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "amct/base/quant_options.h"
#include "amct/ir/graph.h"

namespace amct::passes {

/// Domain of the operators that observe activations inside the user's own session.
inline constexpr const char* kCalibrationDomain = "amct.customop";

/// One activation to observe, and the layers that read it with these options.
struct CalibrationOperator {
  std::string tensor;
  std::vector<std::string> layers;
  ActivationOptions options;
};

/// What all operators of one calibration have in common.
struct CalibrationRun {
  std::string record_file;  // absolute
  std::string id;           // of this calibration, unlike any other
  std::size_t batch_num = 1;
};

/// Adds an IFMR or HFMG node for each operator: it reads the activation, and nothing reads its
/// output (docs/python.md has the attributes). The model computes what it did.
void insert_calibration(ir::Model& model, std::span<const CalibrationOperator> operators,
                        const CalibrationRun& run);

/// Takes the nodes away again.
void remove_calibration(ir::Model& model);

}  // namespace amct::passes
