// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Properties of a dtype (kind, element size, printable name), and dispatch from a dtype to its C++
// type.
#pragma once

#include <executorch/kernels/loops/dtype/selection.h>

namespace executorch::kernels {

/// Kinds in the order of promotion: a higher kind wins over a lower one. Unsupported are the dtypes
/// that this build leaves out (selection.h), and complex ones, with which few kernels compute;
/// these kernels check is_complex() (complex.h).
enum class Kind : uint8_t { Bool, Integer, Floating, Unsupported };

Kind kind_of(ScalarType dtype);
/// Bytes of an element; 0 for a dtype that no kernel can compute with.
int64_t size_of(ScalarType dtype);
/// Bytes of an element, of complex numbers too; 0 for a dtype that no kernel can move.
int64_t width_of(ScalarType dtype);
inline constexpr int64_t kMaxWidth = 16;
/// Printable name, for messages.
const char* name_of(ScalarType dtype);

inline bool is_complex(ScalarType dtype) {
  return dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble ||
         dtype == ScalarType::ComplexHalf;
}
/// The dtype of a complex dtype's real and imaginary parts; any other dtype itself.
inline ScalarType part_dtype(ScalarType dtype) {
  return dtype == ScalarType::ComplexHalf     ? ScalarType::Half
         : dtype == ScalarType::ComplexFloat  ? ScalarType::Float
         : dtype == ScalarType::ComplexDouble ? ScalarType::Double
                                              : dtype;
}
/// The narrowest complex dtype that holds a floating-point dtype.
inline ScalarType complex_dtype(ScalarType part) {
  return part == ScalarType::Double ? ScalarType::ComplexDouble
         : part == ScalarType::Half ? ScalarType::ComplexHalf
                                    : ScalarType::ComplexFloat;
}
inline bool is_floating(ScalarType dtype) { return kind_of(dtype) == Kind::Floating; }
/// Integers and bool, as torch's isIntegralType(includeBool).
inline bool is_integral(ScalarType dtype) { return kind_of(dtype) <= Kind::Integer; }

inline bool is_unsigned(ScalarType dtype) {
  return dtype == ScalarType::Byte || dtype == ScalarType::UInt16 || dtype == ScalarType::UInt32 ||
         dtype == ScalarType::UInt64;
}

/// torch.can_cast: a value may not fall to a lower kind (complex → float, float → int, int → bool).
inline bool can_cast(ScalarType from, ScalarType to) {
  if (has_complex && (is_complex(to) || is_complex(from))) return is_complex(to);
  return kind_of(from) <= kind_of(to);
}

/// The few types that kernels compute in: every dtype is read into one of them and written from it.
enum class Compute : uint8_t { Bool, Int64, Float, Double };

inline int64_t size_of(Compute compute) {
  return compute == Compute::Bool ? 1 : compute == Compute::Float ? 4 : 8;
}

/// The compute type that holds every value of the dtype: int64 for integers and bool, float for the
/// 16-bit floats too.
inline Compute compute_of(ScalarType dtype) {
  return is_integral(dtype)            ? Compute::Int64
         : dtype == ScalarType::Double ? Compute::Double
                                       : Compute::Float;
}

/// The dtype whose memory is the compute type's.
inline ScalarType dtype_of(Compute compute) {
  return compute == Compute::Bool    ? ScalarType::Bool
         : compute == Compute::Int64 ? ScalarType::Long
         : compute == Compute::Float ? ScalarType::Float
                                     : ScalarType::Double;
}

template <class T>
struct Type {
  using type = T;
};

/// The C++ type of the `Type` passed to a visitor: `using T = typename decltype(tag)::type`.
#define ET_TYPE_OF(tag) typename decltype(tag)::type

/// One case of visit(): nothing is compiled for a dtype that this build does not hold.
template <ScalarType dtype, class T, class Visitor>
bool visit_held([[maybe_unused]] Visitor& visitor) {
  if constexpr (is_held(dtype)) visitor(Type<T>{});
  return is_held(dtype);
}

/// Calls visitor(Type<T>{}) with the C++ type of the dtype; false when no kernel can hold the
/// dtype, or this build leaves it out.
template <class Visitor>
bool visit(ScalarType dtype, Visitor&& visitor) {
  switch (dtype) {
    case ScalarType::Bool:
      return visit_held<ScalarType::Bool, bool>(visitor);
    case ScalarType::Byte:
      return visit_held<ScalarType::Byte, uint8_t>(visitor);
    case ScalarType::Char:
      return visit_held<ScalarType::Char, int8_t>(visitor);
    case ScalarType::Short:
      return visit_held<ScalarType::Short, int16_t>(visitor);
    case ScalarType::Int:
      return visit_held<ScalarType::Int, int32_t>(visitor);
    case ScalarType::Long:
      return visit_held<ScalarType::Long, int64_t>(visitor);
    case ScalarType::UInt16:
      return visit_held<ScalarType::UInt16, uint16_t>(visitor);
    case ScalarType::UInt32:
      return visit_held<ScalarType::UInt32, uint32_t>(visitor);
    case ScalarType::UInt64:
      return visit_held<ScalarType::UInt64, uint64_t>(visitor);
    case ScalarType::Half:
      return visit_held<ScalarType::Half, Half>(visitor);
    case ScalarType::BFloat16:
      return visit_held<ScalarType::BFloat16, BFloat16>(visitor);
    case ScalarType::Float:
      return visit_held<ScalarType::Float, float>(visitor);
    case ScalarType::Double:
      return visit_held<ScalarType::Double, double>(visitor);
    default:
      return false;
  }
}

/// An element of 16 bytes.
struct Wide {
  uint64_t low, high;
};

/// Calls visitor(Type<T>{}) with the type of that many bytes (1, 2, 4, 8, 16): for kernels that
/// move elements and never look at them.
template <class Visitor>
bool visit_width(int64_t bytes, Visitor&& visitor) {
  switch (bytes) {
    case 1:
      return visitor(Type<uint8_t>{}), true;
    case 2:
      return visitor(Type<uint16_t>{}), true;
    case 4:
      return visitor(Type<uint32_t>{}), true;
    case 8:
      return visitor(Type<uint64_t>{}), true;
    case 16:
      return visitor(Type<Wide>{}), true;
    default:
      return false;
  }
}

/// Calls visitor(Type<C>{}) with int64_t, float or double (Bool is visited as int64_t); false when
/// none of the dtypes, by default those of this build, is computed in it.
template <uint64_t dtypes = EXECUTORCH_SELECTED_DTYPES, class Visitor>
bool visit_compute(Compute compute, Visitor&& visitor) {
  switch (compute) {
    case Compute::Float:
      if constexpr (computes_in<float>(dtypes)) return visitor(Type<float>{}), true;
      return false;
    case Compute::Double:
      if constexpr (computes_in<double>(dtypes)) return visitor(Type<double>{}), true;
      return false;
    default:
      if constexpr (computes_in<int64_t>(dtypes)) return visitor(Type<int64_t>{}), true;
      return false;
  }
}

/// Calls visitor(Type<C>{}) with float or double, for kernels that refuse other dtypes; false as
/// above.
template <class Visitor>
bool visit_floating(ScalarType dtype, Visitor&& visitor) {
  if (dtype == ScalarType::Double) {
    if constexpr (is_computed<double>) return visitor(Type<double>{}), true;
    return false;
  }
  if constexpr (is_computed<float>) return visitor(Type<float>{}), true;
  return false;
}

}  // namespace executorch::kernels
