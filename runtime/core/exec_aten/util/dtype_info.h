// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Properties of element types: C++ type, size, kind, promotion.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#ifdef USE_ATEN_LIB
#include <c10/core/ScalarType.h>
#define ET_FORALL_SCALAR_TYPES AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS
#endif

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// The C++ type of a ScalarType.
template <executorch::aten::ScalarType N>
struct ScalarTypeToCppType;
/// The ScalarType of a C++ type.
template <typename T>
struct CppTypeToScalarType;

#define ET_INTERNAL_MAP(cpp_type, name)                                                            \
  template <>                                                                                      \
  struct ScalarTypeToCppType<executorch::aten::ScalarType::name> {                                 \
    using type = cpp_type;                                                                         \
  };                                                                                               \
  template <>                                                                                      \
  struct CppTypeToScalarType<cpp_type>                                                             \
      : std::integral_constant<executorch::aten::ScalarType, executorch::aten::ScalarType::name> { \
  };
ET_FORALL_SCALAR_TYPES(ET_INTERNAL_MAP)
#undef ET_INTERNAL_MAP

template <typename T>
constexpr bool is_reduced_floating_point_v =
    std::is_same_v<T, executorch::aten::Half> || std::is_same_v<T, executorch::aten::BFloat16>;
template <typename T>
struct is_reduced_floating_point : std::bool_constant<is_reduced_floating_point_v<T>> {};
template <typename T>
struct is_floating_point
    : std::bool_constant<std::is_floating_point_v<T> || is_reduced_floating_point_v<T>> {};

/// Returns whether `t` is an element type; false for Undefined and invalid enumerators.
constexpr bool isValid(executorch::aten::ScalarType t) {
  return static_cast<int8_t>(t) >= 0 && t < executorch::aten::ScalarType::Undefined;
}

namespace internal {
constexpr bool is_one_of(executorch::aten::ScalarType t, uint32_t set) {
  return isValid(t) && static_cast<int>(t) < 32 && ((set >> static_cast<int>(t)) & 1u) != 0;
}
template <typename... T>
constexpr uint32_t set_of(T... types) {
  return (0u | ... | (1u << static_cast<int>(types)));
}

/// constexpr in both modes, unlike some of c10's functions of these names.
constexpr bool is_complex(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(t, set_of(S::ComplexHalf, S::ComplexFloat, S::ComplexDouble));
}
constexpr bool is_quantized(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(t, set_of(S::QInt8, S::QUInt8, S::QInt32, S::QUInt4x2, S::QUInt2x4));
}
constexpr bool is_bits(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(t, set_of(S::Bits1x8, S::Bits2x4, S::Bits4x2, S::Bits8, S::Bits16));
}
constexpr bool is_floating(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(t, set_of(S::Half, S::BFloat16, S::Float, S::Double));
}
constexpr bool is_float8(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(
      t, set_of(S::Float8_e5m2, S::Float8_e4m3fn, S::Float8_e5m2fnuz, S::Float8_e4m3fnuz));
}
constexpr bool is_unsigned_only(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(t, set_of(S::UInt16, S::UInt32, S::UInt64));
}
constexpr bool is_integral(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return is_one_of(t, set_of(S::Byte, S::Char, S::Short, S::Int, S::Long)) || is_unsigned_only(t);
}

constexpr bool is_promotable(executorch::aten::ScalarType t) {
  return is_integral(t) || is_floating(t) || is_complex(t) ||
         t == executorch::aten::ScalarType::Bool;
}

/// Rank of a dtype in promotion: Half and BFloat16 promote to Float, Byte and Char to Short.
constexpr int promotion_rank(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return t == S::Double || t == S::ComplexDouble ? 8
         : t == S::Float || t == S::ComplexFloat ? 7
         : is_floating(t) || t == S::ComplexHalf ? 6
         : t == S::Long                          ? 5
         : t == S::Int                           ? 4
         : t == S::Short                         ? 3
         : t == S::Bool                          ? 1
                                                 : 2;
}

/// promoteTypes() where both dtypes are promotable.
constexpr executorch::aten::ScalarType promoted(executorch::aten::ScalarType a,
                                                executorch::aten::ScalarType b) {
  using S = executorch::aten::ScalarType;
  if (a == b) {
    return a;
  }
  const int rank_a = promotion_rank(a);
  const int rank_b = promotion_rank(b);
  const int rank = rank_a > rank_b ? rank_a : rank_b;
  if (is_complex(a) || is_complex(b)) {
    const bool half = rank == 6 && a != S::BFloat16 && b != S::BFloat16;
    return rank == 8 ? S::ComplexDouble : half ? S::ComplexHalf : S::ComplexFloat;
  }
  if (rank_a == rank_b) {
    return rank == 6 ? S::Float : S::Short;
  }
  return rank_a > rank_b ? a : b;
}
}  // namespace internal

template <typename T, bool includeBool>
struct is_integral_type
    : std::bool_constant<(std::is_integral_v<T> && (includeBool || !std::is_same_v<T, bool>))> {};

#ifdef USE_ATEN_LIB

// ATen's functions. Definitions of our own would be ambiguous: argument-dependent lookup finds
// c10's, too.
using c10::canCast;
using c10::elementSize;
using c10::isBitsType;
using c10::isComplexType;
using c10::isFloatingType;
using c10::isIntegralType;
using c10::isQIntType;
using c10::isReducedFloatingType;
using c10::promoteTypes;
using c10::toRealValueType;
using c10::toString;

#else

/// Name of the type, for example "Float"; "UNKNOWN_SCALAR" for invalid enumerators.
const char* toString(executorch::aten::ScalarType t);

/// Size of an element in bytes; 0 for invalid enumerators.
size_t elementSize(executorch::aten::ScalarType t);

constexpr bool isIntegralType(executorch::aten::ScalarType t, bool includeBool) {
  return internal::is_integral(t) || (includeBool && t == executorch::aten::ScalarType::Bool);
}

constexpr bool isFloatingType(executorch::aten::ScalarType t) { return internal::is_floating(t); }

constexpr bool isReducedFloatingType(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return t == S::Half || t == S::BFloat16;
}

constexpr bool isComplexType(executorch::aten::ScalarType t) { return internal::is_complex(t); }

constexpr bool isQIntType(executorch::aten::ScalarType t) { return internal::is_quantized(t); }

constexpr bool isBitsType(executorch::aten::ScalarType t) { return internal::is_bits(t); }

/// Returns whether a result of type `from` may be written to an output of type `to`: by ATen's rule
/// not from complex to real, from floating point to integer, or from a number to bool.
constexpr bool canCast(executorch::aten::ScalarType from, executorch::aten::ScalarType to) {
  const bool complex_to_real = isComplexType(from) && !isComplexType(to);
  const bool float_to_integer = isFloatingType(from) && isIntegralType(to, /*includeBool=*/false);
  const bool number_to_bool =
      from != executorch::aten::ScalarType::Bool && to == executorch::aten::ScalarType::Bool;
  return !complex_to_real && !float_to_integer && !number_to_bool;
}

/// The real type of a complex type's parts; any other type is returned unchanged.
constexpr executorch::aten::ScalarType toRealValueType(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return t == S::ComplexHalf     ? S::Half
         : t == S::ComplexFloat  ? S::Float
         : t == S::ComplexDouble ? S::Double
                                 : t;
}

/// Promoted type of `a` and `b` by ATen's table; with `half_to_float`, Half and BFloat16 results
/// become Float. Undefined if ATen does not promote them.
constexpr executorch::aten::ScalarType promoteTypes(executorch::aten::ScalarType a,
                                                    executorch::aten::ScalarType b,
                                                    bool half_to_float = false) {
  using S = executorch::aten::ScalarType;
  S type = S::Undefined;
  if (a == b) {
    type = a;
  } else if (internal::is_unsigned_only(a) || internal::is_unsigned_only(b)) {
    type = internal::is_floating(a) ? a : internal::is_floating(b) ? b : S::Undefined;
  } else if (internal::is_promotable(a) && internal::is_promotable(b)) {
    type = internal::promoted(a, b);
  }
  return half_to_float && isReducedFloatingType(type) ? S::Float : type;
}

#endif

/// Byte, Char, Short, Int, Long, Float, Double; the names below add Half (H), Bool (B) and BFloat16
/// (BF16).
constexpr bool isRealType(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return internal::is_one_of(
      t, internal::set_of(S::Byte, S::Char, S::Short, S::Int, S::Long, S::Float, S::Double));
}
constexpr bool isRealHType(executorch::aten::ScalarType t) {
  return isRealType(t) || t == executorch::aten::ScalarType::Half;
}
constexpr bool isRealHBType(executorch::aten::ScalarType t) {
  return isRealHType(t) || t == executorch::aten::ScalarType::Bool;
}
constexpr bool isRealHBF16Type(executorch::aten::ScalarType t) {
  return isRealHType(t) || t == executorch::aten::ScalarType::BFloat16;
}
constexpr bool isRealHBBF16Type(executorch::aten::ScalarType t) {
  return isRealHBF16Type(t) || t == executorch::aten::ScalarType::Bool;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
