// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The dtypes that this build of the kernels is for: all, or those of the programs that a selective
// build was asked to serve (cmake/kernel_libraries.cmake), which compiles the kernels once more
// with a header generated for them. What is not selected is not compiled; the registration of such
// a build and its typed entry points (Functions.h) refuse other dtypes
// (runtime/kernel/dtype_check.h). The kernels themselves (NativeFunctions.h) do not: called past
// the entry points with a dtype that was left out, they may leave their outputs as they were.
#pragma once

#include <executorch/kernels/loops/types.h>

#ifdef EXECUTORCH_SELECTED_DTYPES_HEADER
#include EXECUTORCH_SELECTED_DTYPES_HEADER  // defines EXECUTORCH_SELECTED_DTYPES
#else
/// Bit i: the dtype of number i.
#define EXECUTORCH_SELECTED_DTYPES (~uint64_t{0})
#endif

namespace executorch::kernels {

constexpr uint64_t dtype_bit(ScalarType dtype) { return uint64_t{1} << static_cast<int>(dtype); }

/// Whether tensors may hold any of the dtypes.
template <class... Dtype>
constexpr bool is_selected(Dtype... dtypes) {
  return (EXECUTORCH_SELECTED_DTYPES & (dtype_bit(dtypes) | ...)) != 0;
}

/// Whether mathematics is compiled for the compute type C.
template <class C>
inline constexpr bool is_computed = is_selected(
    ScalarType::Bool, ScalarType::Byte, ScalarType::Char, ScalarType::Short, ScalarType::Int,
    ScalarType::Long, ScalarType::UInt16, ScalarType::UInt32, ScalarType::UInt64);
template <>
inline constexpr bool is_computed<float> = is_selected(
    ScalarType::Float, ScalarType::Half, ScalarType::BFloat16, ScalarType::ComplexFloat);
template <>
inline constexpr bool is_computed<double> =
    is_selected(ScalarType::Double, ScalarType::ComplexDouble);
// Truth values come of any dtype.
template <>
inline constexpr bool is_computed<bool> = true;

/// Whether elements are read and written as the dtype. Numbers (Scalar) are memory of bool, int64
/// and float64, and 16-bit floats are computed in float32, whatever the tensors hold.
constexpr bool is_held(ScalarType dtype) {
  return is_selected(dtype) || dtype == ScalarType::Bool || dtype == ScalarType::Long ||
         dtype == ScalarType::Double || (dtype == ScalarType::Float && is_computed<float>);
}

}  // namespace executorch::kernels
