#pragma once

#include <string>
#include <string_view>

namespace amct::onnx {

/// What bytes that are no ONNX model look like: "a PNG image", "a text file", "an ONNX model that
/// ends too early (...)". For error messages.
std::string identify(std::string_view bytes);

}  // namespace amct::onnx
