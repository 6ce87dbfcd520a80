// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

#ifndef USE_ATEN_LIB  // ATen defines these itself

namespace executorch::runtime {

using executorch::aten::ScalarType;

const char* toString(ScalarType t) {
#define ET_INTERNAL_NAME(type, name) \
  case ScalarType::name:             \
    return #name;
  switch (t) {
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_NAME)
    case ScalarType::Undefined:
      return "Undefined";
    default:
      return "UNKNOWN_SCALAR";
  }
#undef ET_INTERNAL_NAME
}

size_t elementSize(ScalarType t) {
#define ET_INTERNAL_SIZE(type, name) \
  case ScalarType::name:             \
    return sizeof(type);
  switch (t) {
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_SIZE)
    default:
      return 0;
  }
#undef ET_INTERNAL_SIZE
}

ScalarType toRealValueType(ScalarType t) {
  switch (t) {
    case ScalarType::ComplexHalf:
      return ScalarType::Half;
    case ScalarType::ComplexFloat:
      return ScalarType::Float;
    case ScalarType::ComplexDouble:
      return ScalarType::Double;
    default:
      return t;
  }
}

namespace {

ScalarType toComplexType(ScalarType t) {
  switch (t) {
    case ScalarType::Half:
      return ScalarType::ComplexHalf;
    case ScalarType::Double:
      return ScalarType::ComplexDouble;
    default:  // Float and BFloat16
      return ScalarType::ComplexFloat;
  }
}

bool isUnsignedOnly(ScalarType t) {
  return t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64;
}

bool promotable(ScalarType t) {
  return t == ScalarType::Bool || isIntegralType(t, false) || isFloatingType(t) || isComplexType(t);
}

// The larger of two floating types. Two different 16-bit types promote to Float, because neither
// contains the other.
ScalarType promote_floating(ScalarType a, ScalarType b) {
  if (a == b) {
    return a;
  }
  if (isReducedFloatingType(a) && isReducedFloatingType(b)) {
    return ScalarType::Float;
  }
  return elementSize(a) > elementSize(b) ? a : b;
}

// a and b: Byte, Char, Short, Int, Long or Bool.
ScalarType promote_integral(ScalarType a, ScalarType b) {
  if (a == ScalarType::Bool || b == ScalarType::Bool) {
    return a == ScalarType::Bool ? b : a;
  }
  if (elementSize(a) == elementSize(b)) {  // Byte and Char
    return ScalarType::Short;
  }
  return elementSize(a) > elementSize(b) ? a : b;
}

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) {
    return a;
  }
  if (!promotable(a) || !promotable(b)) {
    return ScalarType::Undefined;
  }
  if (isUnsignedOnly(a) || isUnsignedOnly(b)) {
    return isFloatingType(a) ? a : isFloatingType(b) ? b : ScalarType::Undefined;
  }
  const ScalarType real_a = toRealValueType(a);
  const ScalarType real_b = toRealValueType(b);
  if (isFloatingType(real_a) || isFloatingType(real_b)) {
    const ScalarType real = !isFloatingType(real_a)   ? real_b
                            : !isFloatingType(real_b) ? real_a
                                                      : promote_floating(real_a, real_b);
    return isComplexType(a) || isComplexType(b) ? toComplexType(real) : real;
  }
  return promote_integral(a, b);
}

}  // namespace

ScalarType promoteTypes(ScalarType a, ScalarType b, bool half_to_float) {
  const ScalarType type = promote(a, b);
  return half_to_float && isReducedFloatingType(type) ? ScalarType::Float : type;
}

}  // namespace executorch::runtime

#endif  // USE_ATEN_LIB
