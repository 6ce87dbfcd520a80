// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/tensor/element_types.h>

#include <cstring>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch::extension::pybindings {
namespace {

using executorch::aten::ScalarType;

// numpy's numbers: ndarraytypes.h, NPY_TYPES. The 64-bit integers are `long` or `long long`.
constexpr bool kLongHas64Bits = sizeof(long) == 8;
constexpr int8_t kNumpyInt64 = kLongHas64Bits ? 7 : 9;
constexpr int8_t kNumpyUInt64 = kLongHas64Bits ? 8 : 10;
constexpr int kNumpyLongLong = 9;
constexpr int kNumpyULongLong = 10;

constexpr ElementTypeInfo kTypes[] = {
    {ScalarType::Float, "float32", 4, dlpack::kFloat, 11},
    {ScalarType::Long, "int64", 8, dlpack::kInt, kNumpyInt64},
    {ScalarType::Bool, "bool", 1, dlpack::kBool, 0},
    {ScalarType::Byte, "uint8", 1, dlpack::kUInt, 2},
    {ScalarType::Char, "int8", 1, dlpack::kInt, 1},
    {ScalarType::Short, "int16", 2, dlpack::kInt, 3},
    {ScalarType::Int, "int32", 4, dlpack::kInt, 5},
    {ScalarType::Half, "float16", 2, dlpack::kFloat, 23},
    {ScalarType::Double, "float64", 8, dlpack::kFloat, 12},
    {ScalarType::BFloat16, "bfloat16", 2, dlpack::kBfloat, -1},
    {ScalarType::UInt16, "uint16", 2, dlpack::kUInt, 4},
    {ScalarType::UInt32, "uint32", 4, dlpack::kUInt, 6},
    {ScalarType::UInt64, "uint64", 8, dlpack::kUInt, kNumpyUInt64},
    {ScalarType::ComplexHalf, "complex32", 4, dlpack::kComplex, -1},
    {ScalarType::ComplexFloat, "complex64", 8, dlpack::kComplex, 14},
    {ScalarType::ComplexDouble, "complex128", 16, dlpack::kComplex, 15},
    {ScalarType::Float8_e5m2, "float8_e5m2", 1, dlpack::kFloat8E5M2, -1},
    {ScalarType::Float8_e4m3fn, "float8_e4m3fn", 1, dlpack::kFloat8E4M3Fn, -1},
    {ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz", 1, dlpack::kFloat8E5M2Fnuz, -1},
    {ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz", 1, dlpack::kFloat8E4M3Fnuz, -1},
};

template <typename Matches>
const ElementTypeInfo* find(Matches&& matches) {
  for (const ElementTypeInfo& info : kTypes) {
    if (matches(info)) {
      return &info;
    }
  }
  return nullptr;
}

const ElementTypeInfo* find(dlpack::Code code, size_t size) {
  return find([=](const ElementTypeInfo& info) { return info.code == code && info.size == size; });
}

}  // namespace

const ElementTypeInfo* element_type(ScalarType type) {
  return find([=](const ElementTypeInfo& info) { return info.type == type; });
}

const ElementTypeInfo* element_type(dlpack::DataType type) {
  if (type.lanes != 1 || type.bits % 8 != 0) {
    return nullptr;
  }
  return find(static_cast<dlpack::Code>(type.code), type.bits / 8);
}

const ElementTypeInfo* element_type_of_numpy(int type_number) {
  if (type_number == kNumpyLongLong) {
    type_number = kNumpyInt64;
  } else if (type_number == kNumpyULongLong) {
    type_number = kNumpyUInt64;
  }
  return find([=](const ElementTypeInfo& info) { return info.numpy == type_number; });
}

const ElementTypeInfo* element_type_named(std::string_view name) {
  return find([=](const ElementTypeInfo& info) { return name == info.name; });
}

const ElementTypeInfo* element_type_of_buffer(const char* format, size_t item_size) {
  if (*format == '@' || *format == '=' || *format == '<') {
    ++format;
  }
  if (format[0] == '\0' || format[1] != '\0') {
    return nullptr;
  }
  const char code = format[0];
  if (code == '?') {
    return find(dlpack::kBool, item_size);
  }
  if (std::strchr("efd", code) != nullptr) {
    return find(dlpack::kFloat, item_size);
  }
  if (std::strchr("bhilqn", code) != nullptr) {
    return find(dlpack::kInt, item_size);
  }
  return std::strchr("BHILQN", code) != nullptr ? find(dlpack::kUInt, item_size) : nullptr;
}

const char* element_type_name(ScalarType type) {
  const ElementTypeInfo* info = element_type(type);
  if (info != nullptr) {
    return info->name;
  }
  return runtime::isValid(type) ? runtime::toString(type) : "an unknown type";
}

}  // namespace executorch::extension::pybindings
