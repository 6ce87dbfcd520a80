// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The loops are assembly: with 12 sums, two rows of W and one element of A, all 16 registers are
// taken, and compilers (GCC 12) leave sums on the stack.
#include "product_6x16_fma3.h"

#include <immintrin.h>
#include <stdint.h>

#define ROWS 6
#define COLUMNS 16

static inline const float* moved(const float* pointer, size_t bytes) {
  return (const float*)((uintptr_t)pointer + bytes);
}

// Row r of A, at k bytes before its end, times two vectors of W: sums in the registers `low`, `high`.
#define TIMES_ROW(r, at, element, low, high)                     \
  "vbroadcastss " #at "(%[a" #r "],%[k]), %%ymm" #element "\n"   \
  "vfmadd231ps %%ymm12, %%ymm" #element ", %%ymm" #low "\n"      \
  "vfmadd231ps %%ymm13, %%ymm" #element ", %%ymm" #high "\n"
// One step along K. `at`: bytes in A; `w0`, `w1`: bytes in W.
#define STEP(at, w0, w1)            \
  "vmovaps " #w0 "(%[w]), %%ymm12\n" \
  "vmovaps " #w1 "(%[w]), %%ymm13\n" \
  TIMES_ROW(0, at, 14, 0, 1)        \
  TIMES_ROW(1, at, 15, 2, 3)        \
  TIMES_ROW(2, at, 14, 4, 5)        \
  TIMES_ROW(3, at, 15, 6, 7)        \
  TIMES_ROW(4, at, 14, 8, 9)        \
  TIMES_ROW(5, at, 15, 10, 11)
// All steps along K: %[k] goes from -kc to 0, the rows of A are given by their ends.
#define ALONG_K          \
  "cmp $-16, %[k]\n"     \
  "jg 2f\n"              \
  ".p2align 5\n"         \
  "1:\n"                 \
  STEP(0, 0, 32)         \
  STEP(4, 64, 96)        \
  STEP(8, 128, 160)      \
  STEP(12, 192, 224)     \
  "add $256, %[w]\n"     \
  "add $16, %[k]\n"      \
  "cmp $-16, %[k]\n"     \
  "jle 1b\n"             \
  "2:\n"                 \
  "test %[k], %[k]\n"    \
  "jz 4f\n"              \
  "3:\n"                 \
  STEP(0, 0, 32)         \
  "add $64, %[w]\n"      \
  "add $4, %[k]\n"       \
  "jnz 3b\n"             \
  "4:\n"
// Every row's sums begin with the biases.
#define BEGIN                   \
  "vmovaps (%[w]), %%ymm0\n"    \
  "vmovaps 32(%[w]), %%ymm1\n"  \
  "vmovaps %%ymm0, %%ymm2\n"    \
  "vmovaps %%ymm1, %%ymm3\n"    \
  "vmovaps %%ymm0, %%ymm4\n"    \
  "vmovaps %%ymm1, %%ymm5\n"    \
  "vmovaps %%ymm0, %%ymm6\n"    \
  "vmovaps %%ymm1, %%ymm7\n"    \
  "vmovaps %%ymm0, %%ymm8\n"    \
  "vmovaps %%ymm1, %%ymm9\n"    \
  "vmovaps %%ymm0, %%ymm10\n"   \
  "vmovaps %%ymm1, %%ymm11\n"   \
  "add $64, %[w]\n"
#define KEEP                            \
  "vmovaps %%ymm0, (%[sums])\n"         \
  "vmovaps %%ymm1, 32(%[sums])\n"       \
  "vmovaps %%ymm2, 64(%[sums])\n"       \
  "vmovaps %%ymm3, 96(%[sums])\n"       \
  "vmovaps %%ymm4, 128(%[sums])\n"      \
  "vmovaps %%ymm5, 160(%[sums])\n"      \
  "vmovaps %%ymm6, 192(%[sums])\n"      \
  "vmovaps %%ymm7, 224(%[sums])\n"      \
  "vmovaps %%ymm8, 256(%[sums])\n"      \
  "vmovaps %%ymm9, 288(%[sums])\n"      \
  "vmovaps %%ymm10, 320(%[sums])\n"     \
  "vmovaps %%ymm11, 352(%[sums])\n"
#define REGISTERS                                                                                 \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", \
      "xmm12", "xmm13", "xmm14", "xmm15"

// Rows of sums within the limits to C: 16 columns, or as many as are left. NaN stays.
__attribute__((target("avx"))) static void write(const float* sums, size_t mr, size_t nc, float* c,
                                                 size_t cm_stride, const float* limits) {
  const __m256 least = _mm256_set1_ps(limits[0]), most = _mm256_set1_ps(limits[1]);
  for (size_t row = 0; row < mr; ++row) {
    float* const to = (float*)((uintptr_t)c + row * cm_stride);
    float within[COLUMNS];
    float* const target = nc < COLUMNS ? within : to;
    for (int half = 0; half < COLUMNS; half += 8) {
      const __m256 sum = _mm256_load_ps(sums + row * COLUMNS + half);
      _mm256_storeu_ps(target + half, _mm256_min_ps(most, _mm256_max_ps(least, sum)));
    }
    if (nc < COLUMNS) {
      for (size_t column = 0; column < nc; ++column) to[column] = within[column];
    }
  }
}

void executorch_f32_gemm_6x16_fma3(size_t mr, size_t nc, size_t kc, const float* a, size_t a_stride,
                                   const float* w, float* c, size_t cm_stride, size_t cn_stride,
                                   const float* limits) {
  // Rows that are not there repeat the last one.
  const float* end[ROWS];
  for (size_t row = 0; row < ROWS; ++row) {
    end[row] = moved(a, kc + (row < mr ? row : mr - 1) * a_stride);
  }
  __attribute__((aligned(32))) float sums[ROWS * COLUMNS];
  for (;;) {
    intptr_t k = -(intptr_t)kc;
    __asm__ volatile(BEGIN ALONG_K KEEP
                     : [w] "+r"(w), [k] "+r"(k)
                     : [a0] "r"(end[0]), [a1] "r"(end[1]), [a2] "r"(end[2]), [a3] "r"(end[3]),
                       [a4] "r"(end[4]), [a5] "r"(end[5]), [sums] "r"(sums)
                     : "memory", "cc", REGISTERS);
    write(sums, mr, nc, c, cm_stride, limits);
    if (nc <= COLUMNS) return;
    nc -= COLUMNS;
    c = (float*)((uintptr_t)c + cn_stride);
  }
}

// The end of row r of A for this part of K; the row of zeros stays where it is.
#define END_OF_ROW(r, at)               \
  "mov " #at "(%[rows]), %[a" #r "]\n"  \
  "mov %[a" #r "], %[k]\n"              \
  "add %[offset], %[k]\n"               \
  "cmp %[zero], %[a" #r "]\n"           \
  "cmovne %[k], %[a" #r "]\n"           \
  "add %[kc], %[a" #r "]\n"

void executorch_f32_igemm_6x16_fma3(size_t mr, size_t nc, size_t kc, size_t ks, const float** a,
                                    const float* w, float* c, size_t cm_stride, size_t cn_stride,
                                    size_t a_offset, const float* zero, const float* limits) {
  __attribute__((aligned(32))) float sums[ROWS * COLUMNS];
  const float** const end = (const float**)((uintptr_t)a + ks);
  for (;;) {
    const float** rows = a;
    const float *a0, *a1, *a2, *a3, *a4, *a5;
    intptr_t k;
    __asm__ volatile(BEGIN
                     "5:\n"
                     END_OF_ROW(0, 0) END_OF_ROW(1, 8) END_OF_ROW(2, 16)
                     END_OF_ROW(3, 24) END_OF_ROW(4, 32) END_OF_ROW(5, 40)
                     "mov %[kc], %[k]\n"
                     "neg %[k]\n"
                     ALONG_K
                     "add $48, %[rows]\n"
                     "cmp %[end], %[rows]\n"
                     "jne 5b\n"
                     KEEP
                     : [w] "+r"(w), [rows] "+r"(rows), [k] "=&r"(k), [a0] "=&r"(a0), [a1] "=&r"(a1),
                       [a2] "=&r"(a2), [a3] "=&r"(a3), [a4] "=&r"(a4), [a5] "=&r"(a5)
                     : [sums] "r"(sums), [kc] "rm"(kc), [offset] "rm"(a_offset), [zero] "rm"(zero),
                       [end] "rm"(end)
                     : "memory", "cc", REGISTERS);
    write(sums, mr, nc, c, cm_stride, limits);
    if (nc <= COLUMNS) return;
    nc -= COLUMNS;
    c = (float*)((uintptr_t)c + cn_stride);
  }
}
