#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace amct::tensorflow {

/// Calls visit(key, value) for each entry of a sorted string table (LevelDB's format, without
/// compression), in key order. Checksums and every size are checked before anything is allocated;
/// throws Error(kInvalidModel) that says what is wrong, without the file's name.
void read_table(std::string_view bytes,
                const std::function<void(std::string_view, std::string_view)>& visit);

/// The bytes of a table with these entries, as TensorFlow writes it.
std::string write_table(const std::map<std::string, std::string>& entries);

}  // namespace amct::tensorflow
