// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What a dtype is (kind, element size, printable name), and dispatch from a dtype's value to its
// C++ type.
#pragma once

#include <executorch/kernels/portable/loops/types.h>

namespace executorch::kernels::portable {

/// The kinds order promotion: a higher kind wins over a lower one.
enum class Kind : uint8_t { Bool, Integer, Floating, Unsupported };

Kind kind_of(ScalarType dtype);
/// Bytes of an element; 0 for a dtype that no kernel can hold.
int64_t size_of(ScalarType dtype);
/// Printable name, for messages.
const char* name_of(ScalarType dtype);

inline bool is_floating(ScalarType dtype) { return kind_of(dtype) == Kind::Floating; }
/// Integers and bool, as torch's isIntegralType(includeBool).
inline bool is_integral(ScalarType dtype) { return kind_of(dtype) <= Kind::Integer; }

/// torch.can_cast: a value may not fall to a lower kind (float → int, int → bool).
inline bool can_cast(ScalarType from, ScalarType to) { return kind_of(from) <= kind_of(to); }

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

/// The C++ type behind a `Type` handed to a visitor: `using T = typename decltype(tag)::type`.
#define ET_TYPE_OF(tag) typename decltype(tag)::type

/// Calls visitor(Type<T>{}) with the C++ type of the dtype; false when no kernel can hold the
/// dtype.
template <class Visitor>
bool visit(ScalarType dtype, Visitor&& visitor) {
  switch (dtype) {
    case ScalarType::Bool:
      return visitor(Type<bool>{}), true;
    case ScalarType::Byte:
      return visitor(Type<uint8_t>{}), true;
    case ScalarType::Char:
      return visitor(Type<int8_t>{}), true;
    case ScalarType::Short:
      return visitor(Type<int16_t>{}), true;
    case ScalarType::Int:
      return visitor(Type<int32_t>{}), true;
    case ScalarType::Long:
      return visitor(Type<int64_t>{}), true;
    case ScalarType::UInt16:
      return visitor(Type<uint16_t>{}), true;
    case ScalarType::UInt32:
      return visitor(Type<uint32_t>{}), true;
    case ScalarType::UInt64:
      return visitor(Type<uint64_t>{}), true;
    case ScalarType::Half:
      return visitor(Type<Half>{}), true;
    case ScalarType::BFloat16:
      return visitor(Type<BFloat16>{}), true;
    case ScalarType::Float:
      return visitor(Type<float>{}), true;
    case ScalarType::Double:
      return visitor(Type<double>{}), true;
    default:
      return false;
  }
}

/// Calls visitor(Type<T>{}) with the unsigned integer of that many bytes (1, 2, 4, 8): for kernels
/// that move elements and never look at them.
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
    default:
      return false;
  }
}

/// Calls visitor(Type<C>{}) with int64_t, float or double (Bool is visited as int64_t).
template <class Visitor>
void visit_compute(Compute compute, Visitor&& visitor) {
  switch (compute) {
    case Compute::Float:
      return visitor(Type<float>{});
    case Compute::Double:
      return visitor(Type<double>{});
    default:
      return visitor(Type<int64_t>{});
  }
}

}  // namespace executorch::kernels::portable
