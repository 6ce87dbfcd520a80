// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The compiler's vectors of any number of lanes, and functions for one instruction set that inline
// them. Vectors pass by reference: by value, their calling convention would depend on the set.
#pragma once

#include <cstddef>
#include <cstdint>

#define ET_LANES_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define ET_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define ET_TARGET_AVX512 __attribute__((target("avx512f")))
#endif

namespace executorch::kernels::engine {

template <size_t kLanes>
struct Lanes {
  typedef float Vector __attribute__((vector_size(4 * kLanes)));
  typedef float Unaligned __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
  typedef int32_t Ints __attribute__((vector_size(4 * kLanes)));
  typedef double Doubles __attribute__((vector_size(8 * kLanes)));
};
template <>
struct Lanes<1> {
  using Vector = float;
  using Unaligned = float;
};

template <size_t kLanes>
ET_LANES_INLINE const typename Lanes<kLanes>::Unaligned& lanes_at(const float* place) {
  return *reinterpret_cast<const typename Lanes<kLanes>::Unaligned*>(place);
}
template <size_t kLanes>
ET_LANES_INLINE typename Lanes<kLanes>::Unaligned& lanes_at(float* place) {
  return *reinterpret_cast<typename Lanes<kLanes>::Unaligned*>(place);
}

/// NaN compares false and stays.
template <class V>
ET_LANES_INLINE void clamp_lanes(V& v, float min, float max) {
  const V low = V{} + min, high = V{} + max;
  v = v < low ? low : v;
  v = v > high ? high : v;
}

}  // namespace executorch::kernels::engine
