// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Vectors for the convolutions of images whose columns lie side by side.
#pragma once

namespace executorch::backends::xnnpack {

/// Of float32, wherever they lie.
template <int lanes>
struct Vector {
  typedef float Type __attribute__((vector_size(4 * lanes), aligned(4), may_alias));
};

/// The function for the processor's vectors: that for AVX2 and FMA where it has them, or `plain`.
template <typename Function>
Function for_this_processor([[maybe_unused]] Function wide, Function plain) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return wide;
  }
#endif
  return plain;
}

/// The same where there is one for AVX-512, too.
template <typename Function>
Function for_this_processor([[maybe_unused]] Function widest, Function wide, Function plain) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) {
    return widest;
  }
#endif
  return for_this_processor(wide, plain);
}

}  // namespace executorch::backends::xnnpack

// What a function for such vectors is declared with.
#ifdef __x86_64__
#define EXECUTORCH_WIDE __attribute__((target("avx2,fma")))
#define EXECUTORCH_WIDEST __attribute__((target("avx512f")))
#else
#define EXECUTORCH_WIDE
#define EXECUTORCH_WIDEST
#endif
#define EXECUTORCH_INLINE inline __attribute__((always_inline))
