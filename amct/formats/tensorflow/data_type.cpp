#include "amct/formats/tensorflow/data_type.h"

#include <fmt/core.h>

namespace amct::tensorflow {
namespace {

struct TypeInfo {
  std::int32_t number;
  const char* name;
  std::uint64_t bytes;  // 0: no fixed size
};

constexpr TypeInfo kTypes[] = {
    {1, "float32", 4},       {2, "float64", 8},      {3, "int32", 4},    {4, "uint8", 1},
    {5, "int16", 2},         {6, "int8", 1},         {7, "string", 0},   {8, "complex64", 8},
    {9, "int64", 8},         {10, "bool", 1},        {11, "qint8", 1},   {12, "quint8", 1},
    {13, "qint32", 4},       {14, "bfloat16", 2},    {15, "qint16", 2},  {16, "quint16", 2},
    {17, "uint16", 2},       {18, "complex128", 16}, {19, "float16", 2}, {20, "resource", 0},
    {21, "variant", 0},      {22, "uint32", 4},      {23, "uint64", 8},  {24, "float8_e5m2", 1},
    {25, "float8_e4m3fn", 1}};

const TypeInfo* find_type(std::int32_t type) {
  for (const TypeInfo& info : kTypes)
    if (info.number == type) return &info;
  return nullptr;
}

}  // namespace

std::string data_type_name(std::int32_t type) {
  const TypeInfo* info = find_type(type);
  return info != nullptr ? info->name : fmt::format("type {}", type);
}

std::optional<std::uint64_t> element_bytes(std::int32_t type) {
  const TypeInfo* info = find_type(type);
  if (info == nullptr || info->bytes == 0) return std::nullopt;
  return info->bytes;
}

}  // namespace amct::tensorflow
