// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

/// Products of few rows with the rows of a matrix: inner products, for one instruction set (see
/// tile_product.h).
#pragma once

#include <executorch/kernels/gemm/vector.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace executorch::kernels {
namespace {

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

/// kColumns columns of few_rows_transposed(): of each product kSums sums along k in turn, which are
/// added at the end.
template <class T, int kBytes, int kRows, int kColumns, int kSums>
inline void inner_products(int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb, T* c,
                           int64_t ldc) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  constexpr int kLine = 64 / sizeof(T), kStep = kLine > kSums * kLanes ? kLine : kSums * kLanes;
  V sum[kSums][kRows][kColumns] = {};
  RowGroups<T, kColumns> rows(b, ldb);
  int64_t p = 0;
  const auto add_products = [&](int which) __attribute__((always_inline)) {
    V left[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) left[i] = *reinterpret_cast<const V*>(a + i * lda + p);
#pragma GCC unroll 16
    for (int j = 0; j < kColumns; ++j) {
      const V right = *reinterpret_cast<const V*>(rows.row(j));
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) sum[which][i][j] += left[i] * right;
    }
    rows.advance(kLanes);
    p += kLanes;
  };
  while (p + kStep <= k) {
    // The rows that come next: processors do not see so many streams coming. Of as many lines as a
    // processor waits for at a time, asking for more is of no use.
    if constexpr (kColumns < 16) {
      const RowGroups<T, kColumns> next = rows.following();
#pragma GCC unroll 16
      for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 2
        for (int line = 0; line < kStep; line += kLine) __builtin_prefetch(next.row(j) + line);
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < kStep / kLanes; ++q) add_products(q % kSums);
  }
  while (p + kLanes <= k) add_products(0);
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; kSums == 2 && j < kColumns; ++j) sum[0][i][j] += sum[kSums - 1][i][j];
    lane_sums<T, kBytes, kColumns>(sum[0][i]);
    T* const to = c + i * ldc;
    std::memcpy(to, &sum[0][i][0], kColumns * sizeof(T));
    if (p == k) continue;
    for (int j = 0; j < kColumns; ++j) {
      for (int64_t q = p; q < k; ++q) to[j] += a[i * lda + q] * b[j * ldb + q];
    }
  }
}

/// inner_products() of one row of a with two sums, to the bit. Each row of b is read from its
/// beginning to its end before the next one: caches give one stream up to 1.5 times as fast as
/// many. Two sums are enough, since processors begin the next rows meanwhile.
template <class T, int kBytes, int kColumns>
inline void inner_products_row_by_row(int64_t k, const T* a, const T* b, int64_t ldb, T* c) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  const int64_t paired = k / (2 * kLanes) * 2 * kLanes, whole = k / kLanes * kLanes;
  V sums[kColumns];
#pragma GCC unroll 16
  for (int j = 0; j < kColumns; ++j) {
    const T* const row = b + j * ldb;
    const auto add_product = [&](V* sum, int64_t p) __attribute__((always_inline)) {
      *sum += *reinterpret_cast<const V*>(a + p) * *reinterpret_cast<const V*>(row + p);
    };
    V even{}, odd{};
    for (int64_t p = 0; p < paired; p += 2 * kLanes) {
      add_product(&even, p);
      add_product(&odd, p + kLanes);
    }
    if (paired < whole) add_product(&even, paired);
    sums[j] = even + odd;
  }
  lane_sums<T, kBytes, kColumns>(sums);
  std::memcpy(c, &sums[0], kColumns * sizeof(T));
  for (int j = 0; whole < k && j < kColumns; ++j) {
    for (int64_t p = whole; p < k; ++p) c[j] += a[p] * b[j * ldb + p];
  }
}

/// few_rows_transposed() with kSums sums of each product.
template <class T, int kBytes, int kRows, int kSums>
inline void few_rows_with_sums(int64_t n, int64_t k, const T* a, int64_t lda, const T* b,
                               int64_t ldb, T* c, int64_t ldc) {
  constexpr int kLanes = Vector<T, kBytes>::kLanes;
  constexpr int kMost = (kBytes == 64 ? 16 : 8) / kSums;
  constexpr int kWanted = kRows == 1   ? kMost
                          : kRows == 2 ? kMost / 2
                          : kRows == 3 ? (kBytes == 64 ? 4 : 4 / kSums)
                                       : kMost / 4;
  constexpr int kColumns = kWanted < kLanes ? kWanted : kLanes;
  int64_t j = 0;
  if constexpr (kRows == 1 && kSums == 2) {
    for (; j + kLanes <= n; j += kLanes) {
      inner_products_row_by_row<T, kBytes, kLanes>(k, a, b + j * ldb, ldb, c + j);
    }
  }
  for (; j + kColumns <= n; j += kColumns) {
    inner_products<T, kBytes, kRows, kColumns, kSums>(k, a, lda, b + j * ldb, ldb, c + j, ldc);
  }
  for (; j < n; ++j) {
    inner_products<T, kBytes, kRows, 1, kSums>(k, a, lda, b + j * ldb, ldb, c + j, ldc);
  }
}

/// c[kRows, n] = a[kRows, k] * b[n, k]ᵀ for few rows: inner products along both operands' rows, of
/// as many of b's at a time as keep the processor's adders busy. Long ones have two sums, by any
/// number of rows, so that the results of a row do not depend on which others come with it.
template <class T, int kBytes, int kRows>
void few_rows_transposed(int64_t n, int64_t k, const T* a, int64_t lda, const T* b, int64_t ldb,
                         T* c, int64_t ldc) {
  if constexpr (kBytes > 16) {  // vectors of 16 bytes are no faster so
    if (k * int64_t(sizeof(T)) >= 8 * kBytes) {
      return few_rows_with_sums<T, kBytes, kRows, 2>(n, k, a, lda, b, ldb, c, ldc);
    }
  }
  few_rows_with_sums<T, kBytes, kRows, 1>(n, k, a, lda, b, ldb, c, ldc);
}

}  // namespace
}  // namespace executorch::kernels
