#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace amct::tensorflow {

/// A value of Python's built-in types.
struct PyValue {
  struct List {
    std::vector<PyValue> items;
  };
  struct Tuple {
    std::vector<PyValue> items;
  };
  struct Dict {
    std::vector<std::string> keys;
    std::vector<PyValue> values;  // one for each key
    void add(std::string key, PyValue item);
  };
  std::variant<std::monostate, bool, std::int64_t, std::string, List, Tuple, Dict> value;
};

/// Shorthands: a dictionary, a tuple of integers, a list of texts.
PyValue::Dict py_dict(std::initializer_list<std::pair<std::string, PyValue>> items);
PyValue py_tuple(const std::vector<std::int64_t>& values);
PyValue py_list(const std::vector<std::string>& values);

/// The value as a Python pickle of protocol 2, which every Python reads.
std::string pickle(const PyValue& value);

}  // namespace amct::tensorflow
