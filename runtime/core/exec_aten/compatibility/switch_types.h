// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Dispatch by dtype for kernels that are written with macros:
//
//   ET_SWITCH_REAL_TYPES(out.scalar_type(), ctx, "my::op.out", CTYPE, [&]() {
//     out.mutable_data_ptr<CTYPE>()[0] = CTYPE(1);
//   });
//
// The body is compiled once for each dtype of the set (forall_types.h explains their names), with
// CTYPE as the C++ type. Another dtype makes the context fail with InvalidArgument after a log
// message; a body that returns a value then yields T{}. Kernels of one dtype list, or with little
// memory for code, should convert elements instead of compiling a body many times.
#pragma once

#include <type_traits>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Result of a switch for a dtype without a case.
template <typename T>
T unhandled_dtype() {
  if constexpr (!std::is_void_v<T>) {
    return T{};
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// A selective build may define it to leave out cases of dtypes that no model uses.
#ifndef ET_INTERNAL_CHECK_SELECTIVE_BUILD
#define ET_INTERNAL_CHECK_SELECTIVE_BUILD(enumerator)
#endif

#define ET_INTERNAL_SWITCH_CASE(enumerator, alias, ...)                                          \
  case enumerator: {                                                                             \
    ET_INTERNAL_CHECK_SELECTIVE_BUILD(enumerator);                                               \
    using alias [[maybe_unused]] = ::executorch::runtime::ScalarTypeToCppType<enumerator>::type; \
    return __VA_ARGS__();                                                                        \
  }
#define ET_INTERNAL_SWITCH_ENTRY(name, alias, ...) \
  ET_INTERNAL_SWITCH_CASE(::executorch::aten::ScalarType::name, alias, __VA_ARGS__)

// `first` is any dtype of the set; the switch deduces the body's return type from it.
#define ET_INTERNAL_SWITCH(dtype, context, op_name, first, alias, cases, ...)                    \
  [&] {                                                                                          \
    const ::executorch::aten::ScalarType et_dtype = (dtype);                                     \
    switch (et_dtype) {                                                                          \
      default:                                                                                   \
        break;                                                                                   \
        cases                                                                                    \
    }                                                                                            \
    (context).fail(::executorch::runtime::Error::InvalidArgument);                               \
    ET_LOG(Error, "%s: dtype %s is not supported", op_name,                                      \
           ::executorch::runtime::toString(et_dtype));                                           \
    using alias [[maybe_unused]] =                                                               \
        ::executorch::runtime::ScalarTypeToCppType<::executorch::aten::ScalarType::first>::type; \
    [[maybe_unused]] const auto et_body = __VA_ARGS__;                                           \
    return ::executorch::ET_RUNTIME_NAMESPACE::internal::unhandled_dtype<decltype(et_body())>(); \
  }()

// The cases of a set.
#define ET_INTERNAL_CASES_INT(alias, ...)             \
  ET_INTERNAL_SWITCH_ENTRY(Byte, alias, __VA_ARGS__)  \
  ET_INTERNAL_SWITCH_ENTRY(Char, alias, __VA_ARGS__)  \
  ET_INTERNAL_SWITCH_ENTRY(Short, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Int, alias, __VA_ARGS__)   \
  ET_INTERNAL_SWITCH_ENTRY(Long, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_UINT(alias, ...)             \
  ET_INTERNAL_SWITCH_ENTRY(UInt16, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(UInt32, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(UInt64, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_FLOAT(alias, ...)           \
  ET_INTERNAL_SWITCH_ENTRY(Float, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Double, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_REAL(alias, ...)  \
  ET_INTERNAL_CASES_INT(alias, __VA_ARGS__) \
  ET_INTERNAL_CASES_FLOAT(alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_COMPLEX(alias, ...)                \
  ET_INTERNAL_SWITCH_ENTRY(ComplexFloat, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(ComplexDouble, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_COMPLEXH(alias, ...)  \
  ET_INTERNAL_CASES_COMPLEX(alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(ComplexHalf, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_QINT(alias, ...)               \
  ET_INTERNAL_SWITCH_ENTRY(QInt8, alias, __VA_ARGS__)    \
  ET_INTERNAL_SWITCH_ENTRY(QUInt8, alias, __VA_ARGS__)   \
  ET_INTERNAL_SWITCH_ENTRY(QInt32, alias, __VA_ARGS__)   \
  ET_INTERNAL_SWITCH_ENTRY(QUInt4x2, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(QUInt2x4, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_BITS(alias, ...)              \
  ET_INTERNAL_SWITCH_ENTRY(Bits1x8, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Bits2x4, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Bits4x2, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Bits8, alias, __VA_ARGS__)   \
  ET_INTERNAL_SWITCH_ENTRY(Bits16, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_ALL(alias, ...)                \
  ET_INTERNAL_CASES_REAL(alias, __VA_ARGS__)             \
  ET_INTERNAL_CASES_COMPLEXH(alias, __VA_ARGS__)         \
  ET_INTERNAL_CASES_QINT(alias, __VA_ARGS__)             \
  ET_INTERNAL_CASES_BITS(alias, __VA_ARGS__)             \
  ET_INTERNAL_SWITCH_ENTRY(Half, alias, __VA_ARGS__)     \
  ET_INTERNAL_SWITCH_ENTRY(BFloat16, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Bool, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_SCALAR_OBJ(alias, ...)     \
  ET_INTERNAL_SWITCH_ENTRY(Bool, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Long, alias, __VA_ARGS__) \
  ET_INTERNAL_SWITCH_ENTRY(Double, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_SCALAR_OBJ_REAL(alias, ...) \
  ET_INTERNAL_SWITCH_ENTRY(Long, alias, __VA_ARGS__)  \
  ET_INTERNAL_SWITCH_ENTRY(Double, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_SCALAR_OBJ_INTB(alias, ...) \
  ET_INTERNAL_SWITCH_ENTRY(Bool, alias, __VA_ARGS__)  \
  ET_INTERNAL_SWITCH_ENTRY(Long, alias, __VA_ARGS__)
#define ET_INTERNAL_CASES_SCALAR_OBJ_FLOATB(alias, ...) \
  ET_INTERNAL_SWITCH_ENTRY(Bool, alias, __VA_ARGS__)    \
  ET_INTERNAL_SWITCH_ENTRY(Double, alias, __VA_ARGS__)

// The switches.
#define ET_SWITCH_ALL_TYPES(type, context, name, alias, ...)                                      \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias, ET_INTERNAL_CASES_ALL(alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_INT_TYPES(type, context, name, alias, ...)                                      \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias, ET_INTERNAL_CASES_INT(alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_FLOAT_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Float, alias,        \
                     ET_INTERNAL_CASES_FLOAT(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_REAL_TYPES(type, context, name, alias, ...)                                      \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias, ET_INTERNAL_CASES_REAL(alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_QINT_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, QInt8, alias,       \
                     ET_INTERNAL_CASES_QINT(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_COMPLEX_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, ComplexFloat, alias,   \
                     ET_INTERNAL_CASES_COMPLEX(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_COMPLEXH_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, ComplexFloat, alias,    \
                     ET_INTERNAL_CASES_COMPLEXH(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_SCALAR_OBJ_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Bool, alias,              \
                     ET_INTERNAL_CASES_SCALAR_OBJ(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_SCALAR_OBJ_REAL_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Long, alias,                   \
                     ET_INTERNAL_CASES_SCALAR_OBJ_REAL(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_SCALAR_OBJ_INTB_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Bool, alias,                   \
                     ET_INTERNAL_CASES_SCALAR_OBJ_INTB(alias, __VA_ARGS__), __VA_ARGS__)
#define ET_SWITCH_SCALAR_OBJ_FLOATB_TYPES(type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Bool, alias,                     \
                     ET_INTERNAL_CASES_SCALAR_OBJ_FLOATB(alias, __VA_ARGS__), __VA_ARGS__)

#define ET_SWITCH_INT_TYPES_AND(dtype, type, context, name, alias, ...)       \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias,                        \
                     ET_INTERNAL_CASES_INT(alias, __VA_ARGS__)                \
                         ET_INTERNAL_SWITCH_ENTRY(dtype, alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_FLOAT_TYPES_AND(dtype, type, context, name, alias, ...)     \
  ET_INTERNAL_SWITCH(type, context, name, Float, alias,                       \
                     ET_INTERNAL_CASES_FLOAT(alias, __VA_ARGS__)              \
                         ET_INTERNAL_SWITCH_ENTRY(dtype, alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_FLOAT_TYPES_AND2(dtype1, dtype2, type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Float, alias,                             \
                     ET_INTERNAL_CASES_FLOAT(alias, __VA_ARGS__)                    \
                         ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)       \
                             ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__),  \
                     __VA_ARGS__)
#define ET_SWITCH_FLOAT_TYPES_AND3(dtype1, dtype2, dtype3, type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Float, alias,                                     \
                     ET_INTERNAL_CASES_FLOAT(alias, __VA_ARGS__)                            \
                         ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)               \
                             ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__)           \
                                 ET_INTERNAL_SWITCH_ENTRY(dtype3, alias, __VA_ARGS__),      \
                     __VA_ARGS__)
#define ET_SWITCH_REAL_TYPES_AND(dtype, type, context, name, alias, ...)      \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias,                        \
                     ET_INTERNAL_CASES_REAL(alias, __VA_ARGS__)               \
                         ET_INTERNAL_SWITCH_ENTRY(dtype, alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_REAL_TYPES_AND2(dtype1, dtype2, type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias,                             \
                     ET_INTERNAL_CASES_REAL(alias, __VA_ARGS__)                    \
                         ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)      \
                             ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_REAL_TYPES_AND3(dtype1, dtype2, dtype3, type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias,                                     \
                     ET_INTERNAL_CASES_REAL(alias, __VA_ARGS__)                            \
                         ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)              \
                             ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__)          \
                                 ET_INTERNAL_SWITCH_ENTRY(dtype3, alias, __VA_ARGS__),     \
                     __VA_ARGS__)

#define ET_SWITCH_FLOATH_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_FLOAT_TYPES_AND(Half, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_FLOATHBF16_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_FLOAT_TYPES_AND2(Half, BFloat16, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_FLOATHBF16_TYPES_AND(dtype, type, context, name, alias, ...) \
  ET_SWITCH_FLOAT_TYPES_AND3(Half, BFloat16, dtype, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_REALH_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_REAL_TYPES_AND(Half, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_REALB_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_REAL_TYPES_AND(Bool, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_REALHB_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_REAL_TYPES_AND2(Half, Bool, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_REALHBF16_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_REAL_TYPES_AND2(Half, BFloat16, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_REALHBBF16_TYPES(type, context, name, alias, ...) \
  ET_SWITCH_REAL_TYPES_AND3(Half, Bool, BFloat16, type, context, name, alias, __VA_ARGS__)
#define ET_SWITCH_REALHBBF16_AND_UINT_TYPES(type, context, name, alias, ...)            \
  ET_INTERNAL_SWITCH(type, context, name, Byte, alias,                                  \
                     ET_INTERNAL_CASES_REAL(alias, __VA_ARGS__)                         \
                         ET_INTERNAL_SWITCH_ENTRY(Half, alias, __VA_ARGS__)             \
                             ET_INTERNAL_SWITCH_ENTRY(Bool, alias, __VA_ARGS__)         \
                                 ET_INTERNAL_SWITCH_ENTRY(BFloat16, alias, __VA_ARGS__) \
                                     ET_INTERNAL_CASES_UINT(alias, __VA_ARGS__),        \
                     __VA_ARGS__)

#define ET_SWITCH_TWO_TYPES(dtype1, dtype2, type, context, name, alias, ...)   \
  ET_INTERNAL_SWITCH(type, context, name, dtype1, alias,                       \
                     ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)      \
                         ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__), \
                     __VA_ARGS__)
#define ET_SWITCH_THREE_TYPES(dtype1, dtype2, dtype3, type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, dtype1, alias,                               \
                     ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)              \
                         ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__)          \
                             ET_INTERNAL_SWITCH_ENTRY(dtype3, alias, __VA_ARGS__),     \
                     __VA_ARGS__)
#define ET_SWITCH_FOUR_TYPES(dtype1, dtype2, dtype3, dtype4, type, context, name, alias, ...) \
  ET_INTERNAL_SWITCH(type, context, name, dtype1, alias,                                      \
                     ET_INTERNAL_SWITCH_ENTRY(dtype1, alias, __VA_ARGS__)                     \
                         ET_INTERNAL_SWITCH_ENTRY(dtype2, alias, __VA_ARGS__)                 \
                             ET_INTERNAL_SWITCH_ENTRY(dtype3, alias, __VA_ARGS__)             \
                                 ET_INTERNAL_SWITCH_ENTRY(dtype4, alias, __VA_ARGS__),        \
                     __VA_ARGS__)
