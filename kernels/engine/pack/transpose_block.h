// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Transposes blocks of 32-bit elements in squares of four, by vectors that every processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace executorch::kernels::engine {

typedef uint32_t Four __attribute__((vector_size(16)));

inline Four load_four(const void* from) {
  Four v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
inline void store_four(const Four& v, void* to) { std::memcpy(to, &v, sizeof(v)); }

template <typename T>
void transpose_four(const T* in, size_t in_stride, T* out, size_t out_stride) {
  const Four a = load_four(in), b = load_four(in + in_stride);
  const Four c = load_four(in + 2 * in_stride), d = load_four(in + 3 * in_stride);
  const Four low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store_four(__builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5), out);
  store_four(__builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7), out + out_stride);
  store_four(__builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5), out + 2 * out_stride);
  store_four(__builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7), out + 3 * out_stride);
}

/// out[c * out_stride + r] = in[r * in_stride + c] for r < rows, c < columns.
template <typename T>
void transpose_block(const T* in, size_t in_stride, T* out, size_t out_stride, size_t rows,
                     size_t columns) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    size_t c = 0;
    for (; c + 4 <= columns; c += 4) {
      transpose_four(in + r * in_stride + c, in_stride, out + c * out_stride + r, out_stride);
    }
    for (; c < columns; ++c) {
      for (size_t i = r; i < r + 4; ++i) out[c * out_stride + i] = in[i * in_stride + c];
    }
  }
  for (; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) out[c * out_stride + r] = in[r * in_stride + c];
  }
}

}  // namespace executorch::kernels::engine
