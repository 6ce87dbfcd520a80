// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Vectors of any number of lanes, and functions for one processor's instructions that inline them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f")))

namespace executorch_lanes {

template <size_t kLanes>
struct Of {
  typedef float Vector __attribute__((vector_size(4 * kLanes)));
  typedef float Unaligned __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
  typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
  typedef double Doubles __attribute__((vector_size(8 * kLanes)));
};
template <>
struct Of<1> {
  using Vector = float;
  using Unaligned = float;
};

template <size_t kLanes>
INLINE const typename Of<kLanes>::Unaligned& at(const float* place) {
  return *reinterpret_cast<const typename Of<kLanes>::Unaligned*>(place);
}
template <size_t kLanes>
INLINE typename Of<kLanes>::Unaligned& at(float* place) {
  return *reinterpret_cast<typename Of<kLanes>::Unaligned*>(place);
}

}  // namespace executorch_lanes
