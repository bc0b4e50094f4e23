#include "amct/formats/tensorflow/pickle.h"

#include <cstring>
#include <limits>

namespace amct::tensorflow {
namespace {

/// Opcodes of Python's pickletools, written in the order that a reader's stack needs.
class PickleWriter {
 public:
  std::string take() { return std::move(bytes_) + '.'; }

  void write(const PyValue& value) {
    std::visit([this](const auto& v) { put(v); }, value.value);
  }

 private:
  void put(std::monostate /*none*/) { bytes_ += 'N'; }
  void put(bool value) { bytes_ += value ? '\x88' : '\x89'; }

  void put(std::int64_t value) {
    if (value >= std::numeric_limits<std::int32_t>::min() &&
        value <= std::numeric_limits<std::int32_t>::max()) {
      bytes_ += 'J';
      raw(static_cast<std::int32_t>(value));
    } else {
      bytes_ += "\x8a\x08";  // LONG1 of eight bytes, two's complement
      raw(value);
    }
  }

  void put(const std::string& text) {
    bytes_ += 'X';
    raw(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }

  void put(const PyValue::List& list) {
    bytes_ += "](";
    for (const PyValue& item : list.items) write(item);
    bytes_ += 'e';
  }

  void put(const PyValue::Tuple& tuple) {
    bytes_ += '(';
    for (const PyValue& item : tuple.items) write(item);
    bytes_ += 't';
  }

  void put(const PyValue::Dict& dict) {
    bytes_ += "}(";
    for (std::size_t i = 0; i < dict.keys.size(); ++i) {
      put(dict.keys[i]);
      write(dict.values[i]);
    }
    bytes_ += 'u';
  }

  template <typename T>
  void raw(T value) {
    char data[sizeof value];
    std::memcpy(data, &value, sizeof value);
    bytes_.append(data, sizeof value);
  }

  std::string bytes_ = "\x80\x02";
};

}  // namespace

void PyValue::Dict::add(std::string key, PyValue item) {
  keys.push_back(std::move(key));
  values.push_back(std::move(item));
}

PyValue::Dict py_dict(std::initializer_list<std::pair<std::string, PyValue>> items) {
  PyValue::Dict dict;
  for (const auto& [key, item] : items) dict.add(key, item);
  return dict;
}

PyValue py_tuple(const std::vector<std::int64_t>& values) {
  PyValue::Tuple tuple;
  for (const std::int64_t value : values) tuple.items.push_back({value});
  return {std::move(tuple)};
}

PyValue py_list(const std::vector<std::string>& values) {
  PyValue::List list;
  for (const std::string& value : values) list.items.push_back({value});
  return {std::move(list)};
}

std::string pickle(const PyValue& value) {
  PickleWriter writer;
  writer.write(value);
  return writer.take();
}

}  // namespace amct::tensorflow
