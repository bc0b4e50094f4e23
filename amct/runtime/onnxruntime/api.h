#pragma once

// The only way to ONNX Runtime's C++ API: without its static initialisation, which would need the
// library at link time. Private to this folder.
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#undef ORT_API_MANUAL_INIT
