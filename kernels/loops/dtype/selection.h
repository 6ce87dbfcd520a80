// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The dtypes that this build of the kernels supports. A selective build
// (cmake/kernel_libraries.cmake) compiles the kernels once more for the dtypes of its programs,
// with a generated header. The registration of such a build and its typed entry points
// (Functions.h) reject other dtypes (runtime/kernel/dtype_check.h). The kernels themselves
// (NativeFunctions.h) do not check: called directly with another dtype, they may leave their
// outputs unchanged.
#pragma once

#include <executorch/kernels/loops/dtype/types.h>

#include <string_view>
#include <type_traits>

#ifdef EXECUTORCH_SELECTED_DTYPES_HEADER
#include EXECUTORCH_SELECTED_DTYPES_HEADER  // defines EXECUTORCH_SELECTED_DTYPES
#else
/// Bit i: the dtype of number i.
#define EXECUTORCH_SELECTED_DTYPES (~uint64_t{0})
/// ROW(name, dtypes) of kernels and sources that are for fewer.
#define EXECUTORCH_SELECTED_DTYPES_OF(ROW)
#endif

namespace executorch::kernels {

constexpr uint64_t dtype_bit(ScalarType dtype) { return uint64_t{1} << static_cast<int>(dtype); }

/// True if tensors may hold any of the dtypes.
template <class... Dtype>
constexpr bool is_selected(Dtype... dtypes) {
  return (EXECUTORCH_SELECTED_DTYPES & (dtype_bit(dtypes) | ...)) != 0;
}

/// Mask of the dtypes with which the programs use a kernel ("add_out"), or all kernels that depend
/// on a source file ("portable/gemm/gemm.cpp"). Without a row of codegen/kernel_dtypes.py, all
/// dtypes of the build.
constexpr uint64_t dtypes_of([[maybe_unused]] std::string_view user) {
#define ET_DTYPES_OF(USER, DTYPES) \
  if (user == USER) return DTYPES;
  EXECUTORCH_SELECTED_DTYPES_OF(ET_DTYPES_OF)
#undef ET_DTYPES_OF
  return EXECUTORCH_SELECTED_DTYPES;
}

/// True if kernels compute in C for tensors of any of these dtypes.
template <class C>
constexpr bool computes_in(uint64_t dtypes) {
  const auto any = [dtypes](auto... of) { return (dtypes & (dtype_bit(of) | ...)) != 0; };
  if constexpr (std::is_same_v<C, bool>) {
    return true;  // Truth values come of any dtype.
  } else if constexpr (std::is_same_v<C, float>) {
    return any(ScalarType::Float, ScalarType::Half, ScalarType::BFloat16, ScalarType::ComplexFloat,
               ScalarType::ComplexHalf);
  } else if constexpr (std::is_same_v<C, double>) {
    return any(ScalarType::Double, ScalarType::ComplexDouble);
  } else {
    return any(ScalarType::Bool, ScalarType::Byte, ScalarType::Char, ScalarType::Short,
               ScalarType::Int, ScalarType::Long, ScalarType::UInt16, ScalarType::UInt32,
               ScalarType::UInt64);
  }
}

/// True if this build compiles mathematics for the compute type C.
template <class C>
inline constexpr bool is_computed = computes_in<C>(EXECUTORCH_SELECTED_DTYPES);

/// True if this build reads and writes elements of the dtype. Besides the selected dtypes, these
/// are bool, int64 and float64 for numbers (Scalar), and float32 for computing 16-bit floats.
constexpr bool is_held(ScalarType dtype) {
  return is_selected(dtype) || dtype == ScalarType::Bool || dtype == ScalarType::Long ||
         dtype == ScalarType::Double || (dtype == ScalarType::Float && is_computed<float>) ||
         (dtype == ScalarType::Half && is_selected(ScalarType::ComplexHalf));
}

/// True if the mask contains a complex dtype.
constexpr bool holds_complex(uint64_t dtypes) {
  return (dtypes & (dtype_bit(ScalarType::ComplexHalf) | dtype_bit(ScalarType::ComplexFloat) |
                    dtype_bit(ScalarType::ComplexDouble))) != 0;
}
/// True if this build supports complex tensors; otherwise it compiles no code for them.
inline constexpr bool has_complex = holds_complex(EXECUTORCH_SELECTED_DTYPES);

}  // namespace executorch::kernels
