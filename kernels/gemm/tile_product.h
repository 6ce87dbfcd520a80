// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

/// The innermost loops of a matrix product, for one instruction set.
///
/// A source file picks the vector size and the tile's shape, compiles this for the instruction set
/// it wants (see kernels/optimized/isa_*.cpp) and hands the functions on as a GemmTile (tiles.h).
/// All is in an unnamed namespace, because every such file must keep its own copy.
#pragma once

#include <executorch/kernels/gemm/inner_products.h>
#include <executorch/kernels/gemm/tiles.h>
#include <executorch/kernels/gemm/vector.h>
#include <executorch/kernels/loops/selection.h>

#include <cstring>

namespace executorch::kernels {
namespace {

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

/// c[kRows, n] = a[kRows, k] * b[k, n] for few rows: b is read once, four of its rows at a time,
/// and c stays in cache.
template <class T, int kBytes, int kRows>
void few_rows(int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
              int64_t ldc) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  for (int i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = T(0);
  }
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const T* row = b + p * ldb;
    int64_t j = 0;
    for (; j + kLanes <= n; j += kLanes) {
      V part[4];
#pragma GCC unroll 4
      for (int q = 0; q < 4; ++q) part[q] = *reinterpret_cast<const V*>(row + q * ldb + j);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const T* weight = a + i * lda + p;
        V* to = reinterpret_cast<V*>(c + i * ldc + j);
        *to += (weight[0] * part[0] + weight[1] * part[1]) +
               (weight[2] * part[2] + weight[3] * part[3]);
      }
    }
    for (; j < n; ++j) {
      for (int i = 0; i < kRows; ++i) {
        for (int q = 0; q < 4; ++q) c[i * ldc + j] += a[i * lda + p + q] * row[q * ldb + j];
      }
    }
  }
  for (; p < k; ++p) {
    for (int i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] += a[i * lda + p] * b[p * ldb + j];
    }
  }
}

/// kVectors of a TapSum.
template <class T, int kBytes, int kVectors>
inline void tap_sum_block(const T* in, const int64_t* offsets, const T* weights, int64_t taps,
                          T bias, T* out) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  V sum[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) sum[j] = V{} + bias;
  for (int64_t t = 0; t < taps; ++t) {
    const T* from = in + offsets[t];
    const T weight = weights[t];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sum[j] += weight * *reinterpret_cast<const V*>(from + j * kLanes);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) *reinterpret_cast<V*>(out + j * kLanes) = sum[j];
}

template <class T, int kBytes>
void tap_sum(const T* in, const int64_t* offsets, const T* weights, int64_t taps, T bias, T* out,
             int64_t n) {
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  int64_t q = 0;
  for (; q + 4 * kLanes <= n; q += 4 * kLanes) {
    tap_sum_block<T, kBytes, 4>(in + q, offsets, weights, taps, bias, out + q);
  }
  for (; q < n; q += kLanes) {
    T block[kLanes];
    tap_sum_block<T, kBytes, 1>(in + q, offsets, weights, taps, bias, block);
    for (int64_t lane = 0; lane < kLanes && q + lane < n; ++lane) out[q + lane] = block[lane];
  }
}

/// kVectors of a LaneSum, from lane `at` on.
template <class T, int kBytes, int kVectors>
inline void lane_sum_block(const T* const* in, const T* const* weights, int64_t taps, const T* bias,
                           T* out, int64_t at) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  V sum[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) sum[j] = *reinterpret_cast<const V*>(bias + at + j * kLanes);
  for (int64_t t = 0; t < taps; ++t) {
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) {
      sum[j] += *reinterpret_cast<const V*>(weights[t] + at + j * kLanes) *
                *reinterpret_cast<const V*>(in[t] + at + j * kLanes);
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) *reinterpret_cast<V*>(out + at + j * kLanes) = sum[j];
}

template <class T, int kBytes>
void lane_sum(const T* const* in, const T* const* weights, int64_t taps, const T* bias, T* out,
              int64_t n) {
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    lane_sum_block<T, kBytes, 4>(in, weights, taps, bias, out, i);
  }
  for (; i + kLanes <= n; i += kLanes) {
    lane_sum_block<T, kBytes, 1>(in, weights, taps, bias, out, i);
  }
  for (; i < n; ++i) {
    T sum = bias[i];
    for (int64_t t = 0; t < taps; ++t) sum += weights[t][i] * in[t][i];
    out[i] = sum;
  }
}

/// A function for the instruction set that the source file is compiled for.
template <auto function>
struct AsCompiled {
  static constexpr auto run = function;
};

template <template <auto> class For, class T, int kBytes, int kVectors, int... kRows>
constexpr GemmTile<T> make_tile(std::integer_sequence<int, kRows...>) {
  return {
      sizeof...(kRows),
      kVectors * Vector<T, kBytes>::kLanes,
      {For<&tile_product<T, kBytes, kRows + 1, kVectors>>::run...},
      {For<&few_rows<T, kBytes, 1>>::run, For<&few_rows<T, kBytes, 2>>::run,
       For<&few_rows<T, kBytes, 3>>::run, For<&few_rows<T, kBytes, 4>>::run},
      {For<&few_rows_transposed<T, kBytes, 1>>::run, For<&few_rows_transposed<T, kBytes, 2>>::run,
       For<&few_rows_transposed<T, kBytes, 3>>::run, For<&few_rows_transposed<T, kBytes, 4>>::run},
      For<&tap_sum<T, kBytes>>::run,
      For<&lane_sum<T, kBytes>>::run};
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
