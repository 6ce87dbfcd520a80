// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

/// The innermost loops of a matrix product, for one instruction set.
///
/// A source file picks the vector size and the tile's shape, compiles this for the instruction set
/// it wants (see kernels/optimized/isa_*.cpp) and hands the functions on as a GemmTile (tiles.h).
/// All is in an unnamed namespace, because every such file must keep its own copy.
#pragma once

#include <executorch/kernels/gemm/tiles.h>
#include <executorch/kernels/loops/selection.h>

#include <cstring>

namespace executorch::kernels {
namespace {

/// kBytes of T, at any address. Of one T, a T: what is left of vectors on processors without any.
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

/// Vectors whose lanes hold groups of partial sums, each group `width` lanes for one sum: which
/// lane of a and b together is the first of the two that are added to give lane `lane` of their
/// halved groups. Lanes stay within their 16 bytes where that can be: only then a shuffle is one
/// step.
template <class T, int kLanes>
constexpr int folded_lane(int width, int lane) {
  constexpr int kChunk = 16 / sizeof(T);
  const int half = width / 2;
  if (width > kChunk) {
    const int group = lane / half;
    return group / 2 * width + lane % half + group % 2 * kLanes;
  }
  const int place = lane % (kChunk / 2);
  const int of_b = lane % kChunk >= kChunk / 2 ? kLanes : 0;
  return lane / kChunk * kChunk + place / half * width + place % half + of_b;
}

/// Vectors go by address: as values, they are no matter of the ABI on processors without any.
template <class T, int kBytes, int kWidth, int... lane>
inline void fold(const typename Vector<T, kBytes>::type* a,
                 const typename Vector<T, kBytes>::type* b, typename Vector<T, kBytes>::type* to,
                 std::integer_sequence<int, lane...>) {
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  *to = __builtin_shufflevector(*a, *b, folded_lane<T, kLanes>(kWidth, lane)...) +
        __builtin_shufflevector(*a, *b, (folded_lane<T, kLanes>(kWidth, lane) + kWidth / 2)...);
}

/// The sum of each vector's lanes, in as many of the first lanes of vectors[0]; kCount is a power
/// of two, at most the lanes. Overwrites them all.
template <class T, int kBytes, int kCount, int kWidth = Vector<T, kBytes>::kLanes>
inline __attribute__((always_inline)) void lane_sums(typename Vector<T, kBytes>::type* vectors) {
  if constexpr (kWidth > 1) {
    constexpr auto kAll = std::make_integer_sequence<int, Vector<T, kBytes>::kLanes>{};
    constexpr bool kWithin = kWidth * sizeof(T) <= 16;
    if constexpr (kCount > 1 && (kWithin || kWidth <= kCount)) {
      // Halves of the vectors meet first, neighbours last: so sums come out in order.
#pragma GCC unroll 8
      for (int i = 0; i < kCount / 2; ++i) {
        const int first = kWithin ? 2 * i : i, second = kWithin ? 2 * i + 1 : i + kCount / 2;
        fold<T, kBytes, kWidth>(vectors + first, vectors + second, vectors + i, kAll);
      }
      lane_sums<T, kBytes, kCount / 2, kWidth / 2>(vectors);
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kCount; ++i) {
        fold<T, kBytes, kWidth>(vectors + i, vectors + i, vectors + i, kAll);
      }
      lane_sums<T, kBytes, kCount, kWidth / 2>(vectors);
    }
  }
}

/// The rows of b that inner products are computed with, in groups of four: all four are found from
/// the first. Compilers otherwise keep a pointer for each row, more than there are registers, and
/// load them from the stack again and again.
template <class T, int kColumns>
struct RowGroups {
  static constexpr int kRows = kColumns < 4 ? kColumns : 4;
  static constexpr int kCount = kColumns / kRows;
  static_assert(kCount * kRows == kColumns);

  RowGroups(const T* b, int64_t ldb) : step(ldb) {
#pragma GCC unroll 4
    for (int g = 0; g < kCount; ++g) first[g] = b + g * kRows * ldb;
  }
  __attribute__((always_inline)) const T* row(int j) const {
    return first[j / kRows] + j % kRows * step;
  }
  __attribute__((always_inline)) void advance(int64_t count) {
#pragma GCC unroll 4
    for (int g = 0; g < kCount; ++g) {
      first[g] += count;
      asm("" : "+r"(first[g]));  // so that other rows are not given pointers of their own
    }
  }

  __attribute__((always_inline)) RowGroups following() const {
    RowGroups next = *this;
    next.advance(kColumns * step);
    return next;
  }

  const T* first[kCount];
  int64_t step;
};

/// kColumns columns of few_rows_transposed().
template <class T, int kBytes, int kRows, int kColumns>
inline void inner_products(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                           int64_t ldc) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  constexpr int kLine = 64 / sizeof(T);
  V sum[kRows][kColumns] = {};
  RowGroups<T, kColumns> rows(b, ldb);
  int64_t p = 0;
  const auto add_products = [&]() __attribute__((always_inline)) {
    V left[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) left[i] = *reinterpret_cast<const V*>(a + i * lda + p);
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) {
      const V right = *reinterpret_cast<const V*>(rows.row(j));
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sum[i][j] += left[i] * right;
    }
    rows.advance(kLanes);
    p += kLanes;
  };
  while (p + kLine <= k) {
    // The rows that come next: processors do not see so many streams coming. Of as many lines as a
    // processor waits for at a time, asking for more is of no use.
    if constexpr (kColumns < 16) {
      const RowGroups<T, kColumns> next = rows.following();
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; ++j) __builtin_prefetch(next.row(j));
    }
#pragma GCC unroll 4
    for (int q = 0; q < kLine; q += kLanes) add_products();
  }
  while (p + kLanes <= k) add_products();
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    lane_sums<T, kBytes, kColumns>(sum[i]);
    T* const to = c + i * ldc;
    std::memcpy(to, &sum[i][0], kColumns * sizeof(T));
    if (p == k) continue;
    for (int j = 0; j < kColumns; ++j) {
      for (int64_t q = p; q < k; ++q) to[j] += a[i * lda + q] * b[j * ldb + q];
    }
  }
}

/// c[kRows, n] = a[kRows, k] * b[n, k]ᵀ for few rows: inner products along both operands' rows, of
/// as many of b's at a time as keep the processor's adders busy.
template <class T, int kBytes, int kRows>
void few_rows_transposed(int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                         T* c, int64_t ldc) {
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  constexpr int kSums = kBytes == 64 ? 16 : 8;
  constexpr int kWanted = kRows == 1 ? kSums : kRows == 2 ? kSums / 2 : kRows == 3 ? 4 : kSums / 4;
  constexpr int kColumns = kWanted < kLanes ? kWanted : kLanes;
  int64_t j = 0;
  for (; j + kColumns <= n; j += kColumns) {
    inner_products<T, kBytes, kRows, kColumns>(k, a, lda, b + j * ldb, ldb, c + j, ldc);
  }
  for (; j < n; ++j) {
    inner_products<T, kBytes, kRows, 1>(k, a, lda, b + j * ldb, ldb, c + j, ldc);
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
