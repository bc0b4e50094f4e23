#pragma once

#include <cstdint>

namespace amct::onnx {

/// Numbers of AttributeProto.type.
enum AttributeKind : std::int32_t {
  kNoKind = 0,
  kFloatKind = 1,
  kIntKind = 2,
  kStringKind = 3,
  kTensorKind = 4,
  kGraphKind = 5,
  kFloatsKind = 6,
  kIntsKind = 7,
  kStringsKind = 8,
  kTensorsKind = 9,
  kGraphsKind = 10
};

}  // namespace amct::onnx
