// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of up to 6 prepared rows and panels of 16 columns for AVX2 and AVX-VNNI. The loops are
// assembly: for AVX2, 12 sums, two vectors of weights, one element and a product take all 16
// registers.
#pragma once

#include <executorch/kernels/engine/qgemm/words_avx2.h>

#if defined(__x86_64__)
namespace executorch::kernels::engine::qgemm_avx2 {

inline constexpr size_t kRows = 6, kPanel = 16;
/// Bytes of each row that are prepared at once: 24 KiB for all rows, which fit the first-level
/// cache with a panel of weights. Rows are 64 bytes off a multiple of 4 KiB: at equal offsets in 4
/// KiB, loads would wait for stores.
inline constexpr size_t kMaxBytes = 4096, kRowBytes = 4160;
static_assert(kRowBytes == kMaxBytes + 64, "the assembly repeats the value of kRowBytes");

/// Rows or pieces of rows. The size of each part is a multiple of four bytes.
struct PreparedRows {
  alignas(64) int8_t bytes[kRows * kRowBytes];
};

/// A group of four bytes of each row is two elements of 16 bits, times weights of 8 bits, which a
/// load extends, or of 16 bits (whole panels only); or four elements of 8 bits, for AVX-VNNI.
enum class PanelForm { BytePairs, WordPairs, ByteFours };

// clang-format off
// Elements of row r, at `at` bytes, times 16 columns: sums in the registers `low`, `high`.
#define TIMES_ROW(r, at, low, high)                      \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"    \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm15\n"                 \
  "vpmaddwd %%ymm13, %%ymm14, %%ymm14\n"                 \
  "vpaddd %%ymm15, %[s" #low "], %[s" #low "]\n"         \
  "vpaddd %%ymm14, %[s" #high "], %[s" #high "]\n"
#define TIMES_ROW_WORDS TIMES_ROW
#define TIMES_ROW_VNNI(r, at, low, high)                       \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"          \
  "%{vex%} vpdpbusd %%ymm12, %%ymm14, %[s" #low "]\n"          \
  "%{vex%} vpdpbusd %%ymm13, %%ymm14, %[s" #high "]\n"
// The same for the first eight columns.
#define TIMES_ROW_LOW(r, at, low, high)                  \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"    \
  "vpmaddwd %%ymm12, %%ymm14, %%ymm14\n"                 \
  "vpaddd %%ymm14, %[s" #low "], %[s" #low "]\n"
#define TIMES_ROW_VNNI_LOW(r, at, low, high)                   \
  "vpbroadcastd " #at "+4160*" #r "(%[a]), %%ymm14\n"          \
  "%{vex%} vpdpbusd %%ymm12, %%ymm14, %[s" #low "]\n"
#define ROWS_1(TIMES, at) TIMES(0, at, 0, 1)
#define ROWS_3(TIMES, at) ROWS_1(TIMES, at) TIMES(1, at, 2, 3) TIMES(2, at, 4, 5)
#define ROWS_6(TIMES, at) \
  ROWS_3(TIMES, at) TIMES(3, at, 6, 7) TIMES(4, at, 8, 9) TIMES(5, at, 10, 11)
// A group of four bytes of each row. `at`: its place in the rows; `step`: its number. Its weights
// for eight columns take 16 bytes, or 32 for AVX-VNNI.
#define LOAD_LOW(step) "vpmovsxbw 32*" #step "(%[w]), %%ymm12\n"
#define LOAD(step) LOAD_LOW(step) "vpmovsxbw 32*" #step "+16(%[w]), %%ymm13\n"
#define LOAD_VNNI_LOW(step) "vmovdqu 64*" #step "(%[w]), %%ymm12\n"
#define LOAD_VNNI(step) LOAD_VNNI_LOW(step) "vmovdqu 64*" #step "+32(%[w]), %%ymm13\n"
#define LOAD_WORDS LOAD_VNNI
#define STEP(rows, form, at, step) LOAD##form(step) ROWS_##rows(TIMES_ROW##form, at)
// A single row reads weights at the memory's speed, and a processor's own prefetching ends with
// each page: prefetch four steps' weights, which may be beyond the last ones, a page ahead.
#define PREFETCH_1_32 "prefetcht0 4096(%[w])\n" "prefetcht0 4096+64(%[w])\n"
#define PREFETCH_1_64 PREFETCH_1_32 "prefetcht0 4096+128(%[w])\n" "prefetcht0 4096+192(%[w])\n"
// If there are more rows, pairs of bytes prefetch 64 bytes of `next` in each step of four groups.
#define PREFETCH_3_32 "prefetcht0 (%[next],%[a],4)\n"
#define PREFETCH_3_64
#define PREFETCH_6_32 PREFETCH_3_32
#define PREFETCH_6_64
// %[a] goes to the end of the rows; %[last] is 16 bytes before it.
#define ALONG_DEPTH(rows, form, bytes) \
  "cmp %[last], %[a]\n"                \
  "ja 2f\n"                            \
  ".p2align 5\n"                       \
  "1:\n"                               \
  PREFETCH_##rows##_##bytes            \
  STEP(rows, form, 0, 0)               \
  STEP(rows, form, 4, 1)               \
  STEP(rows, form, 8, 2)               \
  STEP(rows, form, 12, 3)              \
  "add $4*" #bytes ", %[w]\n"          \
  "add $16, %[a]\n"                    \
  "cmp %[last], %[a]\n"                \
  "jbe 1b\n"                           \
  "2:\n"                               \
  "sub $16, %[a]\n"                    \
  "cmp %[last], %[a]\n"                \
  "jae 4f\n"                           \
  "3:\n"                               \
  STEP(rows, form, 16, 0)              \
  "add $" #bytes ", %[w]\n"            \
  "add $4, %[a]\n"                     \
  "cmp %[last], %[a]\n"                \
  "jb 3b\n"                            \
  "4:\n"
#define ADD_PRODUCTS(rows, form, bytes, ...)                           \
  __asm__ volatile(ALONG_DEPTH(rows, form, bytes)                      \
                   : [w] "+&r"(w), [a] "+&r"(a), __VA_ARGS__            \
                   : [last] "r"(last), [next] "r"(next)                \
                   : "memory", "cc", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on

/// Two vectors for each row. The assembly receives and returns them in registers, so a tile's sums
/// are never in memory.
using TileSums = __m256i[2 * kRows];

#define SUM(i) [s##i] "+x"(sums[i])
#define SUMS_1_LOW SUM(0)
#define SUMS_3_LOW SUM(0), SUM(2), SUM(4)
#define SUMS_6_LOW SUMS_3_LOW, SUM(6), SUM(8), SUM(10)
#define SUMS_1 SUM(0), SUM(1)
#define SUMS_3 SUMS_3_LOW, SUM(1), SUM(3), SUM(5)
#define SUMS_6 SUMS_6_LOW, SUM(1), SUM(3), SUM(5), SUM(7), SUM(9), SUM(11)

#define ADD_ROWS(rows)                                      \
  if constexpr (kForm == PanelForm::ByteFours) {            \
    if constexpr (kIsHalf) {                                \
      ADD_PRODUCTS(rows, _VNNI_LOW, 64, SUMS_##rows##_LOW); \
    } else {                                                \
      ADD_PRODUCTS(rows, _VNNI, 64, SUMS_##rows);           \
    }                                                       \
  } else if constexpr (kForm == PanelForm::WordPairs) {     \
    ADD_PRODUCTS(rows, _WORDS, 64, SUMS_##rows);            \
  } else if constexpr (kIsHalf) {                           \
    ADD_PRODUCTS(rows, _LOW, 32, SUMS_##rows##_LOW);        \
  } else {                                                  \
    ADD_PRODUCTS(rows, , 32, SUMS_##rows);                  \
  }

/// Bytes that add_products() prefetches: 64 for four groups.
inline size_t prefetched_bytes(size_t groups) { return groups / 4 * kAlignment; }

/// Adds the products of kUsed rows and a panel's columns (kIsHalf: its first eight) to `sums`. All
/// of these rows must be readable. kUsed is 1, 3 or 6. Products of several rows and pairs of bytes
/// prefetch memory from `ahead` on. Returns the end of the weights.
template <PanelForm kForm, size_t kUsed, bool kIsHalf>
ET_AVX2_INLINE const int8_t* add_products(const int8_t* a, size_t groups, const int8_t* w,
                                          const int8_t* ahead, TileSums& sums) {
  const int8_t* const last = moved(a, sizeof(int32_t) * groups - 16);
  const uintptr_t next = reinterpret_cast<uintptr_t>(ahead) - 4 * reinterpret_cast<uintptr_t>(a);
  if constexpr (kUsed == 1) {
    ADD_ROWS(1);
  } else if constexpr (kUsed == 3) {
    ADD_ROWS(3);
  } else {
    ADD_ROWS(6);
  }
  return w;
}

#undef TIMES_ROW
#undef TIMES_ROW_WORDS
#undef TIMES_ROW_VNNI
#undef TIMES_ROW_LOW
#undef TIMES_ROW_VNNI_LOW
#undef ROWS_1
#undef ROWS_3
#undef ROWS_6
#undef LOAD_LOW
#undef LOAD
#undef LOAD_VNNI_LOW
#undef LOAD_VNNI
#undef LOAD_WORDS
#undef STEP
#undef PREFETCH_1_32
#undef PREFETCH_1_64
#undef PREFETCH_3_32
#undef PREFETCH_3_64
#undef PREFETCH_6_32
#undef PREFETCH_6_64
#undef ALONG_DEPTH
#undef ADD_PRODUCTS
#undef SUM
#undef SUMS_1_LOW
#undef SUMS_3_LOW
#undef SUMS_6_LOW
#undef SUMS_1
#undef SUMS_3
#undef SUMS_6
#undef ADD_ROWS

}  // namespace executorch::kernels::engine::qgemm_avx2
#endif
