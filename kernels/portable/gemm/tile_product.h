// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

/// The innermost loops of a matrix product, for one instruction set. They are in an unnamed
/// namespace, so that the linker does not replace one file's copy by another's.
#pragma once

#include <executorch/kernels/loops/dtype/selection.h>
#include <executorch/kernels/portable/gemm/tiles.h>

#include <utility>

namespace executorch::kernels {
namespace {

/// A vector of kBytes of T, at any address; T itself on processors without vectors.
template <class T, int kBytes, bool kIsOne = kBytes == sizeof(T)>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  static constexpr int kLanes = kBytes / sizeof(T);
};
template <class T, int kBytes>
struct Vector<T, kBytes, true> {
  typedef T type;
  static constexpr int kLanes = 1;
};

/// c[kRows, kVectors * lanes] (+)= a[kRows, kc] * b[kc, kVectors * lanes], all of c in registers.
template <class T, int kBytes, int kRows, int kVectors>
void tile_product(int64_t kc, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc,
                  bool accumulate) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      const V* from = reinterpret_cast<const V*>(c + i * ldc + j * kLanes);
      sum[i][j] = accumulate ? *from : V{};
    }
  }
  for (int64_t p = 0; p < kc; ++p, b += ldb) {
    V column[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) column[j] = *reinterpret_cast<const V*>(b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const T value = a[i * lda + p];
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] += value * column[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) *reinterpret_cast<V*>(c + i * ldc + j * kLanes) = sum[i][j];
  }
}

/// A function for the instruction set that the source file is compiled for.
template <auto function>
struct AsCompiled {
  static constexpr auto run = function;
};

template <template <auto> class For, class T, int kBytes, int kVectors, int... kRows>
constexpr GemmTile<T> make_tile(std::integer_sequence<int, kRows...>) {
  return {sizeof...(kRows),
          kVectors * Vector<T, kBytes>::kLanes,
          {For<&tile_product<T, kBytes, kRows + 1, kVectors>>::run...}};
}

/// The tile of kRows by kVectors vectors of kBytes; the functions for fewer rows serve the lower
/// edge. Empty in a build without the dtypes that T computes.
template <class T, int kBytes, int kRows, int kVectors, template <auto> class For = AsCompiled>
constexpr GemmTile<T> gemm_tile() {
  if constexpr (is_product_computed<T>) {
    return make_tile<For, T, kBytes, kVectors>(std::make_integer_sequence<int, kRows>{});
  } else {
    return {};
  }
}

}  // namespace
}  // namespace executorch::kernels
