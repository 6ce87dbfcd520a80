// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Type traits and conversions of dtypes, for kernels that are templates over two types.
#pragma once

#include <type_traits>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

template <typename T>
struct is_complex_type : std::bool_constant<internal::is_complex(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_bits_type : std::bool_constant<internal::is_bits(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_qint_type : std::bool_constant<internal::is_quantized(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_float8_type : std::bool_constant<internal::is_float8(CppTypeToScalarType<T>::value)> {};
template <typename T>
struct is_barebones_unsigned_type
    : std::bool_constant<internal::is_unsigned_only(CppTypeToScalarType<T>::value)> {};

/// canCast() for two C++ types.
template <typename From, typename To>
struct can_cast {
 private:
  static constexpr executorch::aten::ScalarType kFrom = CppTypeToScalarType<From>::value;
  static constexpr executorch::aten::ScalarType kTo = CppTypeToScalarType<To>::value;

 public:
  static constexpr bool value = !(internal::is_complex(kFrom) && !internal::is_complex(kTo)) &&
                                !(internal::is_floating(kFrom) && internal::is_integral(kTo)) &&
                                (std::is_same_v<From, bool> || !std::is_same_v<To, bool>);
};

/// promoteTypes() for two C++ types; `half_to_float` turns Half and BFloat16 into float.
template <typename T1, typename T2, bool half_to_float = false>
struct promote_types {
 private:
  template <typename T>
  static constexpr bool kPromotable =
      !is_qint_type<T>::value && !is_bits_type<T>::value && !is_float8_type<T>::value &&
      !is_barebones_unsigned_type<T>::value;
  static_assert(std::is_same_v<T1, T2> || (kPromotable<T1> && kPromotable<T2>),
                "quantized, bits, float8 and unsigned types are not promoted");
  using promoted = typename ScalarTypeToCppType<internal::promoted(
      CppTypeToScalarType<T1>::value, CppTypeToScalarType<T2>::value)>::type;

 public:
  using type =
      std::conditional_t<half_to_float && is_reduced_floating_point_v<promoted>, float, promoted>;
};

/// `value` as a To; a floating-point number becomes an integer through int64_t, so that -1.0 as a
/// uint8_t is 255.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return static_cast<To>(static_cast<int64_t>(value));
  } else {
    return static_cast<To>(value);
  }
}

#ifdef USE_ATEN_LIB

using c10::isBarebonesUnsignedType;
using c10::isFloat8Type;
using c10::isSignedType;
using c10::isUnderlying;
using c10::toComplexType;
using c10::toQIntType;
using c10::toUnderlying;

#else

constexpr bool isFloat8Type(executorch::aten::ScalarType t) { return internal::is_float8(t); }
/// True for unsigned integers of 16, 32 and 64 bits.
constexpr bool isBarebonesUnsignedType(executorch::aten::ScalarType t) {
  return internal::is_unsigned_only(t);
}

/// The complex type whose parts are of this type. Ends the program for an integer, which has none.
constexpr executorch::aten::ScalarType toComplexType(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  ET_CHECK_MSG(internal::is_floating(t) || internal::is_complex(t),
               "dtype number %d has no complex type", static_cast<int>(t));
  return t == S::Double || t == S::ComplexDouble ? S::ComplexDouble
         : t == S::Half || t == S::ComplexHalf   ? S::ComplexHalf
                                                 : S::ComplexFloat;
}

/// The quantized type that is stored as this one; any other type is returned unchanged.
constexpr executorch::aten::ScalarType toQIntType(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return t == S::Byte ? S::QUInt8 : t == S::Char ? S::QInt8 : t == S::Int ? S::QInt32 : t;
}

/// The type that a quantized one is stored as; any other type is returned unchanged.
constexpr executorch::aten::ScalarType toUnderlying(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  return t == S::QInt8    ? S::Char
         : t == S::QInt32 ? S::Int
                          : (internal::is_quantized(t) ? S::Byte : t);
}
constexpr bool isUnderlying(executorch::aten::ScalarType type,
                            executorch::aten::ScalarType quantized) {
  return type == toUnderlying(quantized);
}

/// Returns whether the type has negative values. Ends the program for types without arithmetic.
constexpr bool isSignedType(executorch::aten::ScalarType t) {
  using S = executorch::aten::ScalarType;
  ET_CHECK_MSG(t == S::Bool || internal::is_integral(t) || internal::is_floating(t) ||
                   internal::is_complex(t),
               "dtype number %d is neither signed nor unsigned", static_cast<int>(t));
  return t != S::Bool && t != S::Byte && !internal::is_unsigned_only(t);
}

#endif

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
