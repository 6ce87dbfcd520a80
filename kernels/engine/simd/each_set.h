// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Includes ET_SIMD_SOURCE once for each instruction set of vectors, in a namespace of its own
// (ET_SIMD_SET: plain, avx2, avx512) and under its target; ET_SIMD_LANES is the floats of a vector.
// Everything that handles vectors must be compiled so: GCC divides operations on vectors that a
// function's own target lacks into smaller ones before it inlines the function.
// No include guard: a source file includes this once, and calls the results by ET_SIMD_FUNCTION.
#include <cstddef>
#include <cstdint>

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/simd/avx512.h>

#if defined(__clang__)
#define ET_SIMD_END _Pragma("clang attribute pop")
#else
#define ET_SIMD_END _Pragma("GCC pop_options")
#endif

#define ET_SIMD_SET plain
#define ET_SIMD_LANES 4
#include <executorch/kernels/engine/simd/vectors.inc>

#include ET_SIMD_SOURCE
#undef ET_SIMD_SET
#undef ET_SIMD_LANES

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define ET_SIMD_SET avx2
#define ET_SIMD_LANES 8
#include <executorch/kernels/engine/simd/vectors.inc>

#include ET_SIMD_SOURCE
#undef ET_SIMD_SET
#undef ET_SIMD_LANES
ET_SIMD_END

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512dq,avx512bw")
#endif
#define ET_SIMD_SET avx512
#define ET_SIMD_LANES 16
#include <executorch/kernels/engine/simd/vectors.inc>

#include ET_SIMD_SOURCE
#undef ET_SIMD_SET
#undef ET_SIMD_LANES
ET_SIMD_END
#endif

#undef ET_SIMD_SOURCE
#undef ET_SIMD_END

/// The form of a function for a set.
#if defined(__x86_64__)
#define ET_SIMD_FUNCTION(set, function)                \
  ((set) >= InstructionSet::Avx512 ? &avx512::function \
   : (set) >= InstructionSet::Avx2 ? &avx2::function   \
                                   : &plain::function)
#else
#define ET_SIMD_FUNCTION(set, function) ((void)(set), &plain::function)
#endif
