#pragma once

// Private to this folder: the generated messages under a short name.
#include "onnx.pb.h"

namespace amct::onnx {
namespace schema = amct::onnx_schema;
}
