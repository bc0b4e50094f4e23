#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <string_view>

#include "amct/config/violations.h"

namespace amct::config {

/// Merges a text protobuf into the message: of a field set twice the last counts. Unknown fields
/// and values, broken syntax and missing required fields are added as violations; `locations`, if
/// any, receives where each field stands. Private to amct/config.
void merge_text(std::string_view text, const std::string& file_name,
                google::protobuf::Message* message, Violations* violations,
                google::protobuf::TextFormat::ParseInfoTree* locations);

/// Adds a violation for each string of the message that is not UTF-8 after unescaping.
void check_strings(const google::protobuf::Message& message, const std::string& path,
                   Violations* violations);

}  // namespace amct::config
