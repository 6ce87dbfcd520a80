// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/dtype.h>

namespace executorch::kernels::portable {
namespace {

struct Facts {
  Kind kind;
  uint8_t size;
  const char* name;
};

Facts facts(ScalarType dtype) {
  switch (dtype) {
    case ScalarType::Bool:
      return {Kind::Bool, 1, "bool"};
    case ScalarType::Byte:
      return {Kind::Integer, 1, "uint8"};
    case ScalarType::Char:
      return {Kind::Integer, 1, "int8"};
    case ScalarType::Short:
      return {Kind::Integer, 2, "int16"};
    case ScalarType::Int:
      return {Kind::Integer, 4, "int32"};
    case ScalarType::Long:
      return {Kind::Integer, 8, "int64"};
    case ScalarType::UInt16:
      return {Kind::Integer, 2, "uint16"};
    case ScalarType::UInt32:
      return {Kind::Integer, 4, "uint32"};
    case ScalarType::UInt64:
      return {Kind::Integer, 8, "uint64"};
    case ScalarType::Half:
      return {Kind::Floating, 2, "float16"};
    case ScalarType::BFloat16:
      return {Kind::Floating, 2, "bfloat16"};
    case ScalarType::Float:
      return {Kind::Floating, 4, "float32"};
    case ScalarType::Double:
      return {Kind::Floating, 8, "float64"};
    default:
      return {Kind::Unsupported, 0, "a dtype unknown to the kernels"};
  }
}

}  // namespace

Kind kind_of(ScalarType dtype) { return is_held(dtype) ? facts(dtype).kind : Kind::Unsupported; }
int64_t size_of(ScalarType dtype) { return facts(dtype).size; }
const char* name_of(ScalarType dtype) { return facts(dtype).name; }

}  // namespace executorch::kernels::portable
